package main

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// chat is the service on rmw.Store. The store decides the path: cas.New on a plain Redis,
// lockupdate.New behind a proxy.
type chat struct {
	rooms rmw.Typed[room]
}

// roomTTL is the expiry of every room.
const roomTTL = 10 * time.Minute

func newChat(store rmw.Store) chat { return chat{rmw.NewTyped(store, rmw.JSON[room]())} }

// apply applies one event to its room. It returns the number of attempts.
func (c chat) apply(ctx context.Context, e event) (int, error) {
	return c.edit(ctx, e.Room, func(r *room) { r.apply(e) })
}

// edit changes a room, and stores it unless another process has changed it meanwhile: then the
// store calls change again, with the new room.
func (c chat) edit(ctx context.Context, name string, change func(*room)) (tries int, err error) {
	key := rmw.Key{Name: "room:" + name, TTL: roomTTL, Label: "room"}
	for range 20 {
		var res rmw.Result
		_, res, err = c.rooms.Edit(ctx, key, func(_ context.Context, r *room, _ bool) error {
			change(r)
			return nil
		})
		tries += max(res.Attempts, 1)
		// After a retryable error, nothing was written.
		if err == nil || !rmw.Retryable(err) || errors.Is(err, rmw.ErrUnavailable) {
			break
		}
	}
	return tries, err
}
