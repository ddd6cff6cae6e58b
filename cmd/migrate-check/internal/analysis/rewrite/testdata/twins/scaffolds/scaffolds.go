// Package scaffolds is package unfixed with scaffolds in place of transactions. It is written by a test.
package scaffolds

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
	store := s.store
	// Not rewritten: Incr is neither Set, Del, HSet nor HDel.
	_, err := store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		// TODO: move the checks of the function here. It may only compute, and may be called several times.
		n, err := strconv.ParseInt(cur.Text(), 10, 64)
		if err != nil && cur.Exists() {
			return cur, err
		}
		return rmw.String(strconv.FormatInt(n+1, 10)), nil
	})
	// It was:
	//
	//	{
	//			if err := tx.Get(ctx, key).Err(); err != nil && err != redis.Nil {
	//				return err
	//			}
	//			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
	//				pipe.Incr(ctx, key)
	//				return nil
	//			})
	//			return err
	//		}
	return err
}

// countDown counts only an existing key.
func (s *Service) countDown(ctx context.Context, key string, in Input) error {
	store := s.store
	// Not rewritten: DecrBy is neither Set, Del, HSet nor HDel.
	_, err := store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !cur.Exists() {
			return cur, redis.Nil
		}
		// TODO: move the checks of the function here. It may only compute, and may be called several times.
		n, err := strconv.ParseInt(cur.Text(), 10, 64)
		if err != nil && cur.Exists() {
			return cur, err
		}
		return rmw.String(strconv.FormatInt(n-(int64(in.N)), 10)), nil
	})
	// It was:
	//
	//	{
	//			if err := tx.Get(ctx, key).Err(); err != nil {
	//				return err
	//			}
	//			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
	//				pipe.DecrBy(ctx, key, int64(in.N))
	//				return nil
	//			})
	//			return err
	//		}
	return err
}

func (s *Service) countBy(ctx context.Context, key string, in Input) error {
	store := s.store
	// Not rewritten: the key is not read before it is written: a Set overwrites a key of any type, an Update does not.
	_, err := store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		// TODO: move the checks of the function here. It may only compute, and may be called several times.
		n, err := strconv.ParseInt(cur.Text(), 10, 64)
		if err != nil && cur.Exists() {
			return cur, err
		}
		return rmw.String(strconv.FormatInt(n+(int64(in.N)), 10)), nil
	})
	// It was:
	//
	//	{
	//			pipe := tx.TxPipeline()
	//			pipe.IncrBy(ctx, key, int64(in.N))
	//			_, err := pipe.Exec(ctx)
	//			return err
	//		}
	return err
}

func (s *Service) countField(ctx context.Context, key string, in Input) error {
	store := s.store
	// Not rewritten: the key is not read before it is written: a Set overwrites a key of any type, an Update does not.
	// The Update reads all fields of the hash, and fields of one hash have one lock: see rmw.KindHash.
	_, err := store.Update(ctx, rmw.Key{Name: key, Kind: rmw.KindHash}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		// TODO: move the checks of the function here. It may only compute, and may be called several times.
		text, ok := cur.Field(in.Field)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && ok {
			return cur, err
		}
		return cur.With(in.Field, strconv.FormatInt(n+(2), 10)), nil
	})
	// It was:
	//
	//	{
	//			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
	//				pipe.HIncrBy(ctx, key, in.Field, 2)
	//				return nil
	//			})
	//			return err
	//		}
	return err
}

// setKnownField sets a field only where there is one.
func (s *Service) setKnownField(ctx context.Context, key string, in Input) error {
	store := s.store
	// Not rewritten: the answers of the pipeline are kept.
	// The Update reads all fields of the hash, and fields of one hash have one lock: see rmw.KindHash.
	_, err := store.Update(ctx, rmw.Key{Name: key, Kind: rmw.KindHash}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if _, ok := cur.Field(in.Field); !ok {
			return cur, redis.Nil
		}
		// TODO: move the checks of the function here. It may only compute, and may be called several times.
		return cur.With(in.Field, in.Text), nil
	})
	// It was:
	//
	//	{
	//			_, err := tx.HGet(ctx, key, in.Field).Result()
	//			if err != nil {
	//				return err
	//			}
	//			cmds, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
	//				pipe.HSet(ctx, key, in.Field, in.Text)
	//				return nil
	//			})
	//			_ = cmds
	//			return err
	//		}
	return err
}
