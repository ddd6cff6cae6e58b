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
	prefix string // of all keys
	rooms  rmw.Typed[room]
	last   rmw.Typed[string]
	posts  rmw.Typed[int]
}

// roomTTL is the expiry of every room.
const roomTTL = 10 * time.Minute

func newChat(store rmw.Store, prefix string) chat {
	return chat{
		prefix, rmw.NewTyped(store, rmw.JSON[room]()),
		rmw.NewTyped(store, rmw.Text[string]()), rmw.NewTyped(store, rmw.Text[int]()),
	}
}

func (c chat) key(kind, name string) rmw.Key {
	return rmw.Key{Name: c.prefix + kind + ":" + name, TTL: roomTTL, Label: kind}
}

// apply applies one event to its room. It returns the number of attempts.
func (c chat) apply(ctx context.Context, e event) (int, error) {
	return c.edit(ctx, e.Room, func(r *room) { r.apply(e) })
}

// edit changes a room, and stores it unless another process has changed it meanwhile: then the
// store calls change again, with the new room.
func (c chat) edit(ctx context.Context, name string, change func(*room)) (tries int, err error) {
	for range 20 {
		var res rmw.Result
		_, res, err = c.rooms.Edit(ctx, c.key("room", name), func(_ context.Context, r *room, _ bool) error {
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

// post writes two keys together, so that readers never see a message that is not counted. A message
// that is there already is not counted again: a caller without an answer may post it again.
func (c chat) post(ctx context.Context, name, text string) error {
	_, err := rmw.Edit2(ctx, c.last.At(c.key("last", name)), c.posts.At(c.key("posts", name)),
		func(_ context.Context, last *rmw.Item[string], posts *rmw.Item[int]) error {
			if last.Value != text {
				last.Value = text
				posts.Value++
			}
			return nil
		})
	return err
}
