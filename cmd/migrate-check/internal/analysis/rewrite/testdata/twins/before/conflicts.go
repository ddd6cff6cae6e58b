package before

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Runs is the key by which a function asks its ctx each time that it runs, so that a test can
// count the runs.
type Runs struct{}

// limited is a loop with a number of attempts and an error of its own for a conflict.
func (s *Service) limited(ctx context.Context, key string, in Input) error {
	for range 24 {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			text, err := tx.Get(ctx, key).Result()
			if err != nil && err != redis.Nil {
				return err
			}
			if ctx.Value(Runs{}) != nil {
				return nil
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, text+in.Text, 0)
				return nil
			})
			return err
		}, key)
		if err == nil {
			return nil
		}
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
	return ErrConflict
}

// unlimited is a loop that only the ctx ends.
func (s *Service) unlimited(ctx context.Context, key string, in Input) error {
	for {
		if err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			text, err := tx.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			if ctx.Value(Runs{}) != nil {
				return nil
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, in.Text+text, redis.KeepTTL)
				return nil
			})
			return err
		}, key); !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

// once returns a conflict to its caller.
func (s *Service) once(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Int()
		if err == redis.Nil {
			n = 1
		} else if err != nil {
			return err
		}
		if ctx.Value(Runs{}) != nil {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+in.N, 0)
			return nil
		})
		return err
	}, key)
}
