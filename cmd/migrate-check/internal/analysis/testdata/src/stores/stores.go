// Package stores has transactions that differ in which stores can be seen from them.
package stores

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

func none(ctx context.Context, rdb *redis.Client, key string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `there is no rmw.Store in scope`
		v, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, v+"x", 0)
			return nil
		})
		return err
	}, key)
}

func two(ctx context.Context, rdb *redis.Client, a, b rmw.Store, key string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `there is more than one rmw.Store in scope \(a, b\)`
		v, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, v+"x", 0)
			return nil
		})
		return err
	}, key)
}

func twoClients(ctx context.Context, rdb, other *redis.Client, store rmw.Store, key string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `there is more than one client in scope \(other, rdb\)`
		v, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, v+"x", 0)
			return nil
		})
		return err
	}, key)
}
