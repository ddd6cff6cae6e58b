package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
)

// actLegacy plays the unchanged service on a plain Redis, where it is correct.
func (r *rehearsal) actLegacy(ctx context.Context) error {
	r.title("A  The service as it is: WATCH, on a plain Redis")
	r.say(3, "WATCH has Redis refuse a write if the key has changed since it was read; the service then computes it again. "+
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
	r.pair("post helper", "before", before, "")
	r.pair("", "after", after, "both keys or none")
	return nil
}

// pair has the values of the two keys of the post helper.
type pair struct{ last, posts string }

func (r *rehearsal) pair(label, when string, p pair, remark string) {
	r.line("   %-16s%-8s last=%-7s posts=%-7s  %s", label, when, p.last, p.posts, remark)
}

// post sends one transaction over two keys; t counts its commands. It returns the values of the
// keys before and after, and the error that the service gets.
func (r *rehearsal) post(
	ctx context.Context, on *endpoint, part string, t *traffic, hooks ...redis.Hook,
) (before, after pair, failed, err error) {
	rdb, reader := on.client(t, hooks...), on.client(&traffic{})
	defer closing(rdb, reader)()
	prefix, room := r.stage.prefix+part, r.stream[0].Room
	before, err = pairOf(ctx, reader, prefix, room)
	failed = legacyChat{rdb, prefix}.post(ctx, room, "hello")
	after, bad := pairOf(ctx, reader, prefix, room)
	return before, after, failed, cmp.Or(err, bad)
}

// pairOf reads both keys by plain GET.
func pairOf(ctx context.Context, rdb *redis.Client, prefix, room string) (p pair, err error) {
	keys := legacyChat{rdb, prefix}
	for key, value := range map[string]*string{keys.last(room): &p.last, keys.count(room): &p.posts} {
		var bad error
		if *value, bad = rdb.Get(ctx, key).Result(); errors.Is(bad, redis.Nil) {
			*value, bad = "(none)", nil
		}
		err = cmp.Or(err, bad)
	}
	return p, err
}

// actRefused runs the unchanged code behind the proxy.
func (r *rehearsal) actRefused(ctx context.Context) error {
	profile := r.stage.profile
	r.title("B  The same code, unchanged, behind the proxy (" + profile.Name() + ")")
	r.say(3, "A proxy spreads the keys over several Redis servers, and its clients share connections to them. "+
		"A transaction (WATCH, MULTI … EXEC) needs one server and one connection, so most proxies refuse it. "+
		"The hook of proxycompat asks a profile of the proxy before each command, and refuses what the proxy would.")
	if profile.RefusalText("X") == "" {
		r.say(3, "This proxy closes the connection on HELLO, with which go-redis opens every "+
			"one: without the dialer of proxycompat.Options it could not even connect.")
	}
	p := byHand(r.stage.proxy).process(&traffic{}, r.stage.prefix+"b:")
	defer p.close()
	events, refusals, first := r.stream[:100], 0, error(nil)
	for _, e := range events {
		if _, err := p.apply(ctx, e); err != nil {
			refusals++
			first = cmp.Or(first, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	line := row{"B  WATCH by hand, proxy", len(events) - refusals, len(events), "-", "-", "refused"}
	if first != nil {
		r.item("WATCH helper", "%v", events[0])
		r.item("", "%s", reply(first))
		r.item("", "%d of %d updates fail like this; nothing was written", refusals, len(events))
	} else {
		line.verdict = "accepted"
		r.item("WATCH helper", "accepted; of WATCH, the profile says: %s", profile.Rule("WATCH").Why)
	}
	r.rows = append(r.rows, line)
	if err := r.tryPost(ctx); err != nil {
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
	r.pair("post helper", "before", before, "")
	remark := "no error"
	if failed != nil {
		r.item("", "%s", reply(failed))
		remark = "an error, yet written"
	}
	switch {
	case after == before:
		remark = "nothing was written"
	case after.last == before.last || after.posts == before.posts:
		remark += ", yet one key"
	}
	r.pair("", "after", after, remark)
	if failed == nil || after == before {
		return nil
	}
	_, again, _, err := r.post(ctx, r.stage.proxy, "b:post:", &traffic{})
	r.pair("", "retried", again, "one post, counted twice")
	return err
}

// tryHook runs the same with the hook of proxycompat, on new keys.
func (r *rehearsal) tryHook(ctx context.Context) error {
	sent := &traffic{}
	_, after, failed, err := r.post(ctx, r.stage.proxy, "b:hook:", sent, proxycompat.Hook(r.stage.profile))
	if err != nil {
		return err
	}
	var refusal *proxycompat.RefusedError
	switch {
	case failed == nil:
		r.item("with the hook", "not refused: the profile permits this transaction")
	case errors.As(failed, &refusal):
		r.item("with the hook", "proxycompat: %s not sent: %s", refusal.Command, refusal.Reason)
		r.pair("", "after", after, count(sent.commands)+" commands sent")
	default:
		r.item("with the hook", "no refusal, but: %v", failed)
	}
	return nil
}
