package before

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// outside hands the value out.
func (s *Service) outside(ctx context.Context, key string, in Input) error {
	var old string
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var err error
		old, err = tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		if err = ctx.Err(); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, in.Text, 0)
			return nil
		})
		return err
	}, key)
	if err == nil && old == "refuse" {
		return ErrRefused
	}
	return err
}

func (s *Service) flag(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		on, err := tx.Get(ctx, key).Bool()
		if err != nil && err != redis.Nil {
			return err
		}
		n := 1
		if on {
			n = 0
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n, time.Second)
			return nil
		})
		return err
	}, key)
}

func keyOf(name string) string { return name + ":" + strconv.Itoa(len(name)) }

func (s *Service) prefixed(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, keyOf(key)).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, keyOf(key), text+"x", 0)
			return nil
		})
		return err
	}, keyOf(key))
}

func (s *Service) unless(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			if err != redis.Nil {
				return err
			}
			text = in.Text
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text+"!", redis.KeepTTL)
			return nil
		})
		return err
	}, key)
}
