// Package ownnames has methods that return what a client's do, under names of its own.
package ownnames

import (
	"context"

	"github.com/redis/go-redis/v9"
)

type reader interface {
	MultiGet(ctx context.Context, keys ...string) *redis.SliceCmd
	WatchAll(ctx context.Context) *redis.StatusCmd
	PublishEvent(ctx context.Context, event any) *redis.IntCmd
	SubscribeAll(ctx context.Context) *redis.PubSub
	Transact(ctx context.Context, fn func(*redis.Tx) error) error
}

func all(ctx context.Context, r reader) {
	r.MultiGet(ctx, "k")
	r.WatchAll(ctx)
	r.PublishEvent(ctx, 1)
	r.SubscribeAll(ctx)
	r.Transact(ctx, nil)
}

// A double of a connection sends nothing.
type double struct{ names []string }

func (d *double) Do(name string, args ...any) (any, error) {
	d.names = append(d.names, name)
	return nil, nil
}

func doubled(d *double) { d.Do("PUBLISH", "c", "m") }

// A double of a client answers itself.
type client struct{ redis.UniversalClient }

func (c *client) Unwatch(ctx context.Context) *redis.StatusCmd {
	cmd := redis.NewStatusCmd(ctx, "unwatch")
	cmd.SetVal("OK")
	return cmd
}

func (c *client) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetErr(redis.Nil)
	return cmd
}

func answered(ctx context.Context, c *client) {
	c.Unwatch(ctx)
	c.Do(ctx, "WATCH", "k")
}
