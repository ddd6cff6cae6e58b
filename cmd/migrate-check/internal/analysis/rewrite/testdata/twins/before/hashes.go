package before

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func (s *Service) field(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.HGet(ctx, key, in.Field).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, in.Field, n+in.N, "by", in.Text)
			return nil
		})
		return err
	}, key)
}

func (s *Service) fields(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		all, err := tx.HGetAll(ctx, key).Result()
		if err != nil {
			return err
		}
		all["extra"] = in.Text
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, "count", len(all))
			return nil
		})
		return err
	}, key)
}

func (s *Service) dropField(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		raw, err := tx.HGet(ctx, key, in.Field).Bytes()
		if err != nil {
			return err
		}
		if string(raw) == "refuse" {
			return ErrRefused
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HDel(ctx, key, in.Field, "by")
			return nil
		})
		return err
	}, key)
}

func (s *Service) lookAll(ctx context.Context, key string, _ Input) error {
	n := 0
	read := func(tx *redis.Tx) error {
		all, err := tx.HGetAll(ctx, key).Result()
		n = len(all)
		return err
	}
	if err := s.rdb.Watch(ctx, read, key); err != nil {
		return err
	}
	if n > 2 {
		return ErrRefused
	}
	return nil
}

func (s *Service) singlePiped(ctx context.Context, key string, in Input) error {
	pipe := s.rdb.TxPipeline()
	// It replaces the stored value.
	pipe.Set(ctx, key, in.Text, time.Minute)
	_, err := pipe.Exec(ctx)
	return err
}
