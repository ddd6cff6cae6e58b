// Package owntypes hides go-redis behind interfaces with types of their own.
package owntypes

import (
	"context"

	"github.com/redis/go-redis/v9"
)

type store interface {
	TxPipeline() batch
	Pipeline() batch
	TxPipelined(ctx context.Context, fn func(batch) error) error
	Watch(ctx context.Context, fn func(tx) error, keys ...string) error
}

type batch interface {
	Set(key string, value any)
	Exec(ctx context.Context) error
	TxPipeline() batch
}

type tx interface {
	TxPipelined(ctx context.Context, fn func(batch) error) error
}

type adapter struct{ rdb *redis.Client }

func take(ctx context.Context, s store) {
	b := s.TxPipeline() // want `MULTI.*MC102`
	b.Set("a", 1)
	b.Exec(ctx)
	s.Pipeline().Exec(ctx)
	s.TxPipelined(ctx, func(b batch) error { return nil }) // want `MULTI.*MC102`
	s.Watch(ctx, func(t tx) error {                        // want `WATCH.*MC101`
		return t.TxPipelined(ctx, func(batch) error { return nil }) // want `MULTI.*MC102`
	}, "k")
}

// Other systems have the names, too.
type other interface {
	TxPipeline() string
	Watch(ctx context.Context, fn func(event) error, paths ...string) error
}

type event interface{ Exec() }

func strangers(ctx context.Context, o other) {
	o.TxPipeline()
	o.Watch(ctx, func(event) error { return nil }, "/etc")
}
