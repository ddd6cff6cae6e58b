// Package asked has transactions, for a store that is asked for by name.
package asked

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

func none(ctx context.Context, rdb *redis.Client, key string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `a, which was asked for, means nothing here`
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
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
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

func twoClients(ctx context.Context, rdb, a *redis.Client, store rmw.Store, key string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error { // want `a, which was asked for, is no rmw.Store here`
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
