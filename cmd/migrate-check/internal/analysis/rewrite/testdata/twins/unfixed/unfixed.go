// Package unfixed has functions that use a transaction and get a scaffold, which package scaffolds
// has in their place.
package unfixed

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

var _, _ = strconv.Itoa, errors.New // to keep the imports

// Input holds the arguments of a function.
type Input struct {
	Text  string
	N     int
	TTL   time.Duration
	Field string
}

// Service has a client, as services do, and a store since its migration has begun.
type Service struct {
	rdb   *redis.Client
	store rmw.Store
}

// New returns one.
func New(rdb *redis.Client, store rmw.Store) *Service { return &Service{rdb, store} }

// Func is a function of a service.
type Func func(ctx context.Context, key string, in Input) error

// Funcs are all, by their name.
func (s *Service) Funcs() map[string]Func {
	return map[string]Func{
		"count": s.count, "countDown": s.countDown, "countBy": s.countBy, "countField": s.countField,
		"setKnownField": s.setKnownField,
	}
}

func (s *Service) count(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if err := tx.Get(ctx, key).Err(); err != nil && err != redis.Nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Incr(ctx, key)
			return nil
		})
		return err
	}, key)
}

// countDown counts only an existing key.
func (s *Service) countDown(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if err := tx.Get(ctx, key).Err(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.DecrBy(ctx, key, int64(in.N))
			return nil
		})
		return err
	}, key)
}

func (s *Service) countBy(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		pipe.IncrBy(ctx, key, int64(in.N))
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

func (s *Service) countField(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HIncrBy(ctx, key, in.Field, 2)
			return nil
		})
		return err
	}, key)
}

// setKnownField sets a field only where there is one.
func (s *Service) setKnownField(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.HGet(ctx, key, in.Field).Result()
		if err != nil {
			return err
		}
		cmds, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, in.Field, in.Text)
			return nil
		})
		_ = cmds
		return err
	}, key)
}
