// Package conflicts tells its callers of a conflict.
package conflicts

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

type service struct {
	rdb   *redis.Client
	store rmw.Store
}

func (s *service) add(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*goes by TxFailedErr`
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

// status is what a user gets to see, who then decides anew.
func (s *service) status(ctx context.Context, key string) int {
	if err := s.add(ctx, key); errors.Is(err, redis.TxFailedErr) {
		return 409
	}
	return 200
}
