package main

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// chat is the service on the rmw contract. The store decides the path: cas.New on a plain Redis,
// lockupdate.New behind a proxy.
type chat struct {
	rooms rmw.Typed[room]
	keys  keys
}

func newChat(store rmw.Store, keys keys) chat {
	return chat{rooms: rmw.NewTyped(store, rmw.JSON[room]()), keys: keys}
}

// apply applies one event to its room. It returns the number of attempts.
func (c chat) apply(ctx context.Context, n numbered) (int, error) {
	key := rmw.Key{Name: c.keys.room(n.Room), TTL: c.keys.ttl, Label: "room"}
	tries := 0
	for again := 0; ; again++ {
		_, res, err := c.rooms.Edit(ctx, key, func(_ context.Context, r *room, _ bool) error {
			r.apply(n)
			return nil
		})
		tries += max(res.Attempts, 1)
		// A retryable error means that nothing was written.
		if err == nil || again == maxAgain || !rmw.Retryable(err) || errors.Is(err, rmw.ErrUnavailable) {
			return tries, err
		}
	}
}

// create stores an empty room.
func (c chat) create(ctx context.Context, name string) error {
	key := rmw.Key{Name: c.keys.room(name), TTL: c.keys.ttl, Label: "room"}
	_, _, err := c.rooms.Edit(ctx, key, func(context.Context, *room, bool) error { return nil })
	return err
}

// maxAgain is the number of retries by the service itself.
const maxAgain = 20

// keys builds the key names of the rehearsal. Every key has the prefix and expires, even if the
// process is killed.
type keys struct {
	prefix string
	ttl    time.Duration
}

func (k keys) room(name string) string  { return k.prefix + "room:" + name }
func (k keys) last(name string) string  { return k.prefix + "last:" + name }
func (k keys) count(name string) string { return k.prefix + "posts:" + name }

// lock is lockupdate.Config.LockName. It keeps the prefix.
func (k keys) lock(key string) string { return key + ":lock" }

// sub returns keys for one part of the rehearsal.
func (k keys) sub(name string) keys { return keys{prefix: k.prefix + name + ":", ttl: k.ttl} }
