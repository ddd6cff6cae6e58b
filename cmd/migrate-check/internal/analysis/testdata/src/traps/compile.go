package traps

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

func (s *service) client() *redis.Client { return s.rdb }

func (s *service) clientUnused(ctx context.Context, key string) error {
	if s := s.rdb; s != nil {
		use(ctx)
	}
	rdb := s.rdb
	err := rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
	return err
}

func (s *service) labelUnused(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		label := "read " + key
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return fmt.Errorf("%s: %w", label, err)
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) ownMax(ctx context.Context, key string, ttl time.Duration, max func(a, b time.Duration) time.Duration) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: max is the name of something else there`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, ttl)
			return nil
		})
		return err
	}, key)
}

func (s *service) ownString(ctx context.Context, key string) error {
	type string = []byte
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: string is the name of something else there`
		raw, err := tx.Get(ctx, key).Bytes()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, raw, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) nilAsAValue(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err == redis.Nil {
			was := &err
			text = (*was).Error()
		} else if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) nilKept(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err == redis.Nil {
			was := err
			was = ctx.Err()
			text = fmt.Sprint(was)
		} else if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}
