package main

import (
	"context"
	"errors"
	"io"

	"github.com/unwatch/unwatch/proxycompat"
)

// actRefused runs the unchanged code behind the proxy.
func (r *rehearsal) actRefused(ctx context.Context) error {
	r.screen.title("B  The same code, unchanged, behind the proxy (" + r.stage.profile.Name() + ")")
	r.screen.say(3, dim, "A proxy spreads the keys over several Redis servers, and its clients share connections to them. "+
		"A transaction (MULTI … EXEC) needs one server and one connection, so most proxies refuse it.")
	if r.stage.profile.RefusalText("X") == "" {
		r.screen.say(3, dim, "This proxy closes the connection on HELLO, with which go-redis opens every "+
			"one: without the dialer of proxycompat.Options it could not even connect.")
	}
	if err := r.tryUpdates(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := r.tryPost(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return r.tryHook(ctx)
}

// tryUpdates runs the WATCH helper on the first events of the stream.
func (r *rehearsal) tryUpdates(ctx context.Context) error {
	p := byHand(r.stage.proxy).process(&traffic{}, r.stage.prefix+"b:")
	defer p.close()
	events := r.stream[:min(100, len(r.stream))]
	refusals, first := 0, error(nil)
	for _, e := range events {
		if _, err := p.service.apply(ctx, e); err != nil {
			refusals++
			if first == nil {
				first = err
			}
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
		text := "works here: this proxy lets WATCH through, so it is not the one that the profile describes"
		if rule := r.stage.profile.Rule("WATCH"); rule.Verdict != proxycompat.Refused && rule.Verdict != proxycompat.Closes {
			text = "is answered, as the profile says: " + rule.Why
		}
		r.screen.item("WATCH helper", yellow, "%s", text)
	}
	r.rows = append(r.rows, line)
	return nil
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
	if failed != nil {
		r.screen.item("", red, "%s", reply(failed))
	}
	half := (after.last == before.last) != (after.posts == before.posts)
	switch {
	case failed == nil && half:
		r.pair("", red, "after", after, "no error, yet one key")
	case failed == nil:
		r.pair("", yellow, "after", after, "no error: MULTI works")
	case after == before:
		r.pair("", normal, "after", after, "nothing was written")
	default:
		r.pair("", red, "after", after, "an error, yet written")
		_, again, failed, err := r.post(ctx, r.stage.proxy, "b:post:", &traffic{})
		if err != nil || failed == nil {
			return err
		}
		r.pair("", red, "retried", again, "one post, counted twice")
	}
	return nil
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
		_, commands, _ := sent.take()
		r.screen.item("with the hook", green, "proxycompat: %s not sent: %s", refusal.Command, refusal.Reason)
		r.pair("", normal, "after", after, count(commands)+" commands sent")
	default:
		r.screen.item("with the hook", red, "no refusal, but: %v", failed)
	}
	return nil
}
