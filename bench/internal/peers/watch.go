package peers

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
)

// watch is the WATCH loop of the go-redis documentation, with an optional delay.
type watch struct {
	counter
	rdb   *redis.Client
	delay delay
}

func openWatch(d delay) func(Options) (Impl, error) {
	return func(o Options) (Impl, error) { return &watch{rdb: Client(o), delay: d}, nil }
}

func (w *watch) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	return w.again(ctx, func(tx *redis.Tx) error {
		old, err := value(tx.Get(ctx, key))
		if err != nil {
			return err
		}
		next, err := fn(old)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, next, 0)
			return nil
		})
		return err
	}, key)
}

// again repeats a transaction until no other one has changed its keys.
func (w *watch) again(ctx context.Context, once func(tx *redis.Tx) error, keys ...string) error {
	for try := 1; ; try++ {
		err := w.rdb.Watch(ctx, once, keys...)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
		w.n.Add(1)
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.delay != nil {
			if err := redisx.Sleep(ctx, w.delay(try)); err != nil {
				return err
			}
		}
	}
}

func (w *watch) Close() error { return w.rdb.Close() }

// value returns the result of a GET, or nil for an absent key.
func value(cmd *redis.StringCmd) ([]byte, error) {
	old, err := cmd.Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return old, err
}
