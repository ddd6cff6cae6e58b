package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
)

// actLegacy plays the unchanged service on a plain Redis, where it is correct.
func (r *rehearsal) actLegacy(ctx context.Context) error {
	r.screen.title("A  The service as it is: WATCH, on a plain Redis")
	r.screen.say(3, dim, "WATCH has Redis refuse a write if the key has changed since it was read; the service then computes it again. "+
		"\"by hand\" is legacy.go, as people write it. \"cas\" is chat.go, the service on rmw.Store, Unwatch's interface for "+
		"such updates, here with WATCH underneath.")
	on := r.stage.legacy
	for _, p := range []path{byHand(on), onCAS(on)} {
		x, err := r.on(ctx, p, "a:"+p.name+":", r.stream, nil)
		if err != nil {
			return err
		}
		r.shown(x, "A  "+p.name+", Redis")
		r.legacy = append(r.legacy, x)
		if ctx.Err() != nil {
			return nil
		}
	}
	before, after, failed, err := r.post(ctx, on, "a:post:", &traffic{})
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	r.pair("post helper", normal, "before", before, "")
	r.pair("", normal, "after", after, "both keys or none")
	return nil
}

// pair has the values of the two keys of the post helper.
type pair struct{ last, posts string }

func (r *rehearsal) pair(label string, as style, when string, p pair, remark string) {
	r.screen.line(fmt.Sprintf("   %-16s", label) +
		r.screen.paint(as, fmt.Sprintf("%-8s last=%-7s posts=%-7s  %s", when, p.last, p.posts, remark)))
}

// post sends one transaction over two keys; t counts its commands. It returns the values of the
// keys before and after, and the error that the service gets.
func (r *rehearsal) post(
	ctx context.Context, on *endpoint, part string, t *traffic, hooks ...redis.Hook,
) (before, after pair, failed, err error) {
	rdb, reader := on.client(t, hooks...), on.client(&traffic{})
	defer rdb.Close()    //nolint:errcheck // has no effect on the run
	defer reader.Close() //nolint:errcheck // has no effect on the run
	chat, room := legacyChat{rdb, r.stage.prefix + part}, r.stream[0].Room
	if before, err = chat.pair(ctx, reader, room); err == nil {
		failed = chat.post(ctx, room, "hello")
		after, err = chat.pair(ctx, reader, room)
	}
	return before, after, failed, err
}

func (c legacyChat) pair(ctx context.Context, rdb *redis.Client, room string) (p pair, err error) {
	for key, value := range map[string]*string{c.last(room): &p.last, c.count(room): &p.posts} {
		*value, err = rdb.Get(ctx, key).Result()
		if errors.Is(err, redis.Nil) {
			*value, err = "(none)", nil
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// actRefused runs the unchanged code behind the proxy.
func (r *rehearsal) actRefused(ctx context.Context) error {
	profile := r.stage.profile
	r.screen.title("B  The same code, unchanged, behind the proxy (" + profile.Name() + ")")
	r.screen.say(3, dim, "A proxy spreads the keys over several Redis servers, and its clients share connections to them. "+
		"A transaction (WATCH, MULTI … EXEC) needs one server and one connection, so most proxies refuse it. "+
		"The hook of proxycompat asks a profile of the proxy before each command, and refuses what the proxy would.")
	if profile.RefusalText("X") == "" {
		r.screen.say(3, dim, "This proxy closes the connection on HELLO, with which go-redis opens every "+
			"one: without the dialer of proxycompat.Options it could not even connect.")
	}
	p := byHand(r.stage.proxy).process(&traffic{}, r.stage.prefix+"b:")
	defer p.close()
	events, refusals, first := r.stream[:100], 0, error(nil)
	for _, e := range events {
		if _, err := p.service.apply(ctx, e); err != nil {
			refusals++
			first = cmp.Or(first, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	line := row{"B  WATCH by hand, proxy", len(events) - refusals, len(events), "-", "-", "refused", yellow}
	if first != nil {
		r.screen.item("WATCH helper", normal, "%v", events[0])
		r.screen.item("", red, "%s", reply(first))
		r.screen.item("", normal, "%d of %d updates fail like this; nothing was written", refusals, len(events))
	} else {
		line.verdict = "accepted"
		r.screen.item("WATCH helper", yellow, "accepted; of WATCH, the profile says: %s", profile.Rule("WATCH").Why)
	}
	r.rows = append(r.rows, line)
	if err := r.tryPost(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return r.tryHook(ctx)
}

// reply returns the error reply of the proxy.
func reply(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "EOF: the connection was closed without a word"
	}
	return err.Error()
}

// tryPost runs the two-key transaction, and prints the keys that it leaves.
func (r *rehearsal) tryPost(ctx context.Context) error {
	before, after, failed, err := r.post(ctx, r.stage.proxy, "b:post:", &traffic{})
	if err != nil {
		return err
	}
	r.pair("post helper", normal, "before", before, "")
	remark, as := "no error", yellow
	if failed != nil {
		r.screen.item("", red, "%s", reply(failed))
		remark, as = "an error, yet written", red
	}
	switch {
	case after == before:
		remark, as = "nothing was written", normal
	case after.last == before.last || after.posts == before.posts:
		remark, as = remark+", yet one key", red
	}
	r.pair("", as, "after", after, remark)
	if failed == nil || after == before {
		return nil
	}
	_, again, _, err := r.post(ctx, r.stage.proxy, "b:post:", &traffic{})
	r.pair("", red, "retried", again, "one post, counted twice")
	return err
}

// tryHook runs the same with the hook of proxycompat, on new keys.
func (r *rehearsal) tryHook(ctx context.Context) error {
	sent := &traffic{}
	_, after, failed, err := r.post(ctx, r.stage.proxy, "b:hook:", sent, proxycompat.Hook(r.stage.profile))
	if err != nil || ctx.Err() != nil {
		return err
	}
	var refusal *proxycompat.RefusedError
	switch {
	case failed == nil:
		r.screen.item("with the hook", yellow, "not refused: the profile permits this transaction")
	case errors.As(failed, &refusal):
		r.screen.item("with the hook", green, "proxycompat: %s not sent: %s", refusal.Command, refusal.Reason)
		r.pair("", normal, "after", after, count(sent.commands)+" commands sent")
	default:
		r.screen.item("with the hook", red, "no refusal, but: %v", failed)
	}
	return nil
}
