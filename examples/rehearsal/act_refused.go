package main

import (
	"context"
	"errors"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/proxycompat"
)

// actRefused runs the unchanged code behind the proxy.
func (r *rehearsal) actRefused(ctx context.Context) error {
	r.screen.title("B", "The same code, unchanged, behind the proxy ("+r.stage.profile.Name()+")")
	on := r.stage.proxy
	k := r.stage.keys.sub("b")
	rdb := on.client(wire.NewProcess(nil))
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	room := r.stream[0].Room
	defer r.stage.clear(on, k, []string{room}) //nolint:errcheck // the keys expire

	if r.stage.profile.RefusalText("X") == "" {
		r.screen.say(3, dim, "This proxy closes the connection on HELLO, with which go-redis opens every "+
			"one: without the dialer of proxycompat.Options it could not even connect.")
	}
	if err := r.tryUpdates(ctx, legacyChat{rdb, k}); err != nil {
		return err
	}
	if err := r.tryPost(ctx, rdb, k, room); err != nil {
		return err
	}
	return r.tryHook(ctx, k, room)
}

// tryUpdates runs the WATCH helper on the first events of the stream.
func (r *rehearsal) tryUpdates(ctx context.Context, chat legacyChat) error {
	const few = 100
	events := r.stream[:min(few, len(r.stream))]
	refusals, first := 0, error(nil)
	for _, n := range events {
		if _, err := chat.apply(ctx, n); err != nil {
			refusals++
			if first == nil {
				first = err
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	r.rows = append(r.rows, row{run: "B  WATCH by hand, proxy", acked: len(events) - refusals, verdict: "refused", as: yellow})
	if first == nil {
		r.rows[len(r.rows)-1].verdict = "accepted"
		text := "works here: this proxy lets WATCH through, so it is not the one that the profile describes"
		if rule := r.stage.profile.Rule("WATCH"); rule.Verdict != proxycompat.Refused && rule.Verdict != proxycompat.Closes {
			text = "is answered, as the profile says: " + rule.Why
		}
		r.screen.item("WATCH helper", yellow, "%s", text)
		return r.stage.clear(r.stage.proxy, chat.keys, roomsOf(events))
	}
	r.screen.item("WATCH helper", normal, "%v", events[0].Event)
	r.screen.item("", red, "%s", reply(first))
	r.screen.item("", normal, "%d of %d updates fail like this; nothing was written", refusals, len(events))
	return r.stage.clear(r.stage.proxy, chat.keys, roomsOf(events))
}

// reply returns the error reply of the proxy.
func reply(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "EOF: the connection was closed without a word"
	}
	return err.Error()
}

// tryPost runs the two-key transaction, and prints the keys that it leaves.
func (r *rehearsal) tryPost(ctx context.Context, rdb *redis.Client, k keys, room string) error {
	chat := legacyChat{rdb, k}
	before, err := readPair(ctx, rdb, k, room)
	if err != nil {
		return err
	}
	failed := chat.post(ctx, room, "hello")
	after, err := readPair(ctx, rdb, k, room)
	if err != nil {
		return err
	}
	r.screen.item("post helper", normal, "before   %v", before)
	if failed == nil && (after.last == before.last || after.posts == before.posts) {
		r.screen.item("", red, "after    %v  no error, yet only one of the keys was written", after)
		return nil
	}
	if failed == nil {
		r.screen.item("", yellow, "after    %v  no error: MULTI works here", after)
		return nil
	}
	r.screen.item("", red, "%s", reply(failed))
	if after == before {
		r.screen.item("", normal, "after    %v  nothing was written", after)
		return nil
	}
	r.screen.item("", red, "after    %v  an error, yet written", after)
	if chat.post(ctx, room, "hello") == nil {
		return nil
	}
	again, err := readPair(ctx, rdb, k, room)
	if err != nil {
		return err
	}
	r.screen.item("", red, "retried  %v  one post, counted twice", again)
	return nil
}

// tryHook runs the same with the hook, on new keys.
func (r *rehearsal) tryHook(ctx context.Context, k keys, room string) error {
	k = k.sub("hook")
	sent := wire.NewProcess(nil)
	rdb := r.stage.proxy.client(sent)
	defer rdb.Close()                                     //nolint:errcheck // has no effect on the run
	defer r.stage.clear(r.stage.proxy, k, []string{room}) //nolint:errcheck // the keys expire
	rdb.AddHook(proxycompat.Hook(r.stage.profile))
	err := legacyChat{rdb, k}.post(ctx, room, "hello")
	if ctx.Err() != nil {
		return nil
	}
	commands := sent.Stats().Commands
	left, err2 := readPair(ctx, rdb, k, room)
	if err2 != nil {
		return err2
	}
	var refusal *proxycompat.RefusedError
	if err == nil {
		r.screen.item("with the hook", yellow, "not refused: the profile permits this transaction")
		return nil
	}
	if !errors.As(err, &refusal) {
		r.screen.item("with the hook", red, "no refusal, but: %v", err)
		return nil
	}
	r.screen.item("with the hook", green, "proxycompat: %s not sent: %s", refusal.Command, refusal.Reason)
	r.screen.item("", normal, "after    %v  %d commands sent", left, commands)
	return nil
}
