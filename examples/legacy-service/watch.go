package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxTries is how often somebody else may be quicker.
const maxTries = 100

// watchUpdate is the update of one key: read it, change it, write it back unless
// somebody else has written it since, in which case try again. also are commands
// for the same transaction. The expiry of the key stays.
func watchUpdate[T any](ctx context.Context, rdb redis.UniversalClient, key string,
	change func(v *T, found bool) error, also ...func(redis.Pipeliner) error,
) (T, error) {
	var v T
	err := watch(ctx, rdb, func(tx *redis.Tx) (err error) {
		var found bool
		if v, found, err = load[T](ctx, tx, key); err != nil {
			return err
		}
		if err := change(&v, found); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			err := save(ctx, pipe, key, v)
			for _, add := range also {
				err = errors.Join(err, add(pipe))
			}
			return err
		})
		return err
	}, key)
	return v, err
}

// watch runs fn until nobody has touched what it watches.
func watch(ctx context.Context, rdb redis.UniversalClient, fn func(*redis.Tx) error, keys ...string) error {
	for try := range maxTries {
		if err := rdb.Watch(ctx, fn, keys...); !errors.Is(err, redis.TxFailedErr) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%v: others were quicker %d times", keys, maxTries)
}

// pause waits at random, and for longer each time.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(rand.N(time.Millisecond << min(try, 5)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load reads a key, with any client or within a transaction.
func load[T any](ctx context.Context, rdb redis.Cmdable, key string) (v T, found bool, err error) {
	raw, err := rdb.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, true, fmt.Errorf("%s: %w", key, err)
	}
	return v, true, nil
}

// save writes a key and leaves its expiry alone.
func save(ctx context.Context, pipe redis.Pipeliner, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return pipe.Set(ctx, key, raw, redis.KeepTTL).Err()
}
