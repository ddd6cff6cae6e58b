package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
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
	r.screen.line(fit("   "+label, 19) + r.screen.paint(as, fmt.Sprintf("%-8s last=%-7s posts=%-7s  %s", when, p.last, p.posts, remark)))
}

// post sends one transaction over two keys, whose commands t counts. It returns the values of the
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
