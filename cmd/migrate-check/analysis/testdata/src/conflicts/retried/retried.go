// Package retried has conflicts in functions that have nothing to do with each other.
package retried

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

type service struct {
	rdb   *redis.Client
	store rmw.Store
}

func (s *service) add(ctx context.Context, key string) error {
	for {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
			n, err := tx.Get(ctx, key).Int()
			if err != nil && err != redis.Nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, n+1, 0)
				return nil
			})
			return err
		}, key)
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
}

func (s *service) once(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}
