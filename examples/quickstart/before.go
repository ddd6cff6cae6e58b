package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// joinWatch is join as it was before the migration.
//
// snippet:before
func joinWatch(ctx context.Context, rdb *redis.Client, id, member string) error {
	key := "room:" + id
	for {
		err := rdb.Watch(ctx, func(tx *redis.Tx) error {
			room, err := tx.Get(ctx, key).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				return p.Set(ctx, key, add(room, member), 24*time.Hour).Err()
			})
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

// endsnippet

// moveWatch is move as it was before the migration.
//
// snippet:two-before
func moveWatch(ctx context.Context, rdb *redis.Client, from, to, member string) error {
	for {
		err := rdb.Watch(ctx, func(tx *redis.Tx) error {
			left, err := tx.Get(ctx, from).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			joined, err := tx.Get(ctx, to).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, from, remove(left, member), 24*time.Hour)
				p.Set(ctx, to, add(joined, member), 24*time.Hour)
				return nil
			})
			return err
		}, from, to)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

// endsnippet
