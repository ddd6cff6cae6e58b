package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/rmw"
)

// actLegacy plays the unchanged service on a plain Redis, where it is correct.
func (r *rehearsal) actLegacy(ctx context.Context) (err error) {
	r.screen.title("A", "The service as it is: WATCH, on a plain Redis")
	r.screen.say(3, dim, "by hand: legacy.go, as people write it. cas: the same service on rmw.Store.")
	on := r.stage.legacy
	k := r.stage.keys.sub("a")
	if r.legacy, err = r.play(ctx, byHand(on), k.sub("hand"), r.stream, nil); err != nil {
		return err
	}
	r.shown(r.legacy, "A  WATCH by hand, Redis")
	if ctx.Err() != nil {
		return nil
	}
	if r.cas, err = r.play(ctx, onCAS(on), k.sub("cas"), r.stream, nil); err != nil {
		return err
	}
	r.shown(r.cas, "A  cas, Redis")
	if ctx.Err() != nil {
		return nil
	}
	return r.postPlain(ctx, k)
}

// shown prints the result of a run and adds it to the closing table.
func (r *rehearsal) shown(res result, as string) {
	a := res.audit
	verdict, look := "every one is there, once", green
	if !a.clean() {
		verdict, look = fmt.Sprintf("%s LOST, %s doubled", count(len(a.Lost)), count(len(a.Doubled))), red
	}
	if len(a.Lost)+len(a.Doubled) == 0 && len(a.Phantom)+len(a.Different) > 0 {
		verdict = fmt.Sprintf("%d written though refused, %d rooms wrong", len(a.Phantom), len(a.Different))
	}
	r.outcome(res, look, verdict)
	r.showFailures(res)
	r.kept(res)
	r.rows = append(r.rows, rowOf(as, res))
}

// outcome prints one line about a run.
func (r *rehearsal) outcome(res result, as style, verdict string) {
	r.screen.line(fmt.Sprintf("   %s%6s acknowledged   %s %4.1f s", fit(res.path, 16), count(res.audit.Acknowledged),
		r.screen.paint(as, fit(verdict, 26)), res.replay.took.Seconds()))
}

// showFailures prints the updates that were not acknowledged.
func (r *rehearsal) showFailures(res result) {
	run := res.replay
	if run.failures == 0 {
		return
	}
	r.screen.say(19, yellow, "%s not acknowledged, the first: %v (event %s)",
		count(run.failures), run.firstOf.Event, count(run.firstOf.ID+1))
	r.screen.say(19, yellow, "%s", r.clean(run.first))
	if res.audit.Unclear > 0 {
		r.screen.say(19, yellow, "%s of them may have been written or not: nobody was told", count(res.audit.Unclear))
	}
}

// clean removes the random key prefix from the text of an error.
func (r *rehearsal) clean(err error) string {
	text := strings.ReplaceAll(err.Error(), r.stage.keys.prefix, "…")
	if errors.Is(err, rmw.ErrWrongKind) || redis.HasErrorPrefix(err, "WRONGTYPE") {
		text += " — a key of another type is in the way; it was not touched"
	}
	return text
}

// pair has the values of the two keys of the post helper.
type pair struct{ last, posts string }

func (p pair) String() string { return fmt.Sprintf("last=%-7s posts=%-7s", p.last, p.posts) }

func readPair(ctx context.Context, rdb *redis.Client, k keys, room string) (pair, error) {
	var p pair
	for _, half := range []struct {
		key   string
		value *string
	}{{k.last(room), &p.last}, {k.count(room), &p.posts}} {
		text, err := rdb.Get(ctx, half.key).Result()
		switch {
		case errors.Is(err, redis.Nil):
			text = "(none)"
		case err != nil:
			return p, err
		}
		*half.value = text
	}
	return p, nil
}

// postPlain shows the two-key transaction on a plain Redis, where it works.
func (r *rehearsal) postPlain(ctx context.Context, k keys) error {
	rdb := r.stage.legacy.client(wire.NewProcess(nil))
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	chat, room := legacyChat{rdb, k}, r.stream[0].Room
	defer r.stage.clear(r.stage.legacy, k, []string{room}) //nolint:errcheck // the keys expire
	before, err := readPair(ctx, rdb, k, room)
	if err == nil {
		err = chat.post(ctx, room, "hello")
	}
	if err != nil {
		return err
	}
	after, err := readPair(ctx, rdb, k, room)
	if err != nil {
		return err
	}
	r.screen.item("post helper", normal, "before   %v", before)
	r.screen.item("", normal, "after    %v  both keys or none", after)
	return nil
}
