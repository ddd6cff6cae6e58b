package traps

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func (s *service) queued(ctx context.Context, pipe redis.Pipeliner, key string) error {
	_, err := pipe.TxPipelined(ctx, func(p redis.Pipeliner) error { // it sends what was queued before
		p.Incr(ctx, key)
		return nil
	})
	return err
}

func (s *service) maybeQueued(ctx context.Context, c redis.Cmdable, key string) error {
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, key)
		return nil
	})
	return err
}

type own interface {
	TxPipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
	Incr(ctx context.Context, key string) *redis.IntCmd
}

func (s *service) ofOwn(ctx context.Context, c own, key string) error {
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, key)
		return nil
	})
	return err
}

type counting struct{ *redis.Client }

func (c counting) Incr(ctx context.Context, key string) *redis.IntCmd { return nil }

func (s *service) ofWrapped(ctx context.Context, c counting, key string) error {
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, key)
		return nil
	})
	return err
}

func (s *service) nextContext(ctx context.Context) context.Context {
	s.rename()
	return ctx
}

func (s *service) contextWithEffect(ctx context.Context, key string) error {
	_, err := s.rdb.TxPipelined(s.nextContext(ctx), func(p redis.Pipeliner) error {
		p.Incr(s.nextContext(ctx), key)
		return nil
	})
	return err
}

func (s *service) readFromMaster(ctx context.Context, many *redis.ClusterClient, key string) error {
	_, err := many.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Get(ctx, key)
		return nil
	})
	return err
}
