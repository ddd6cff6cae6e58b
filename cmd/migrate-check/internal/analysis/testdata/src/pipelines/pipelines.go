// Package pipelines has transactions without a WATCH, with what becomes of each.
package pipelines

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type service struct{ rdb *redis.Client }

func fill(p redis.Pipeliner) {}

func (s *service) several(ctx context.Context, key string) error {
	p := s.rdb.TxPipeline() // want `^not fixed: the transaction has 2 commands, and one command is rewritten`
	p.Incr(ctx, key)
	p.Expire(ctx, key, time.Hour)
	_, err := p.Exec(ctx)
	return err
}

func (s *service) one(ctx context.Context, key string) error {
	p := s.rdb.TxPipeline() // want `^fixed$`
	p.HSet(ctx, key, "a", 1)
	_, err := p.Exec(ctx)
	return err
}

func (s *service) handedOn(ctx context.Context) error {
	p := s.rdb.TxPipeline() // want `^not fixed: the pipeline is handed on, so its commands are not all seen`
	fill(p)
	_, err := p.Exec(ctx)
	return err
}

func (s *service) sentAgain(ctx context.Context, key string) error {
	p := s.rdb.TxPipeline() // want `^not fixed: a TxPipeline is not followed by one command and Exec`
	p.HSet(ctx, key, "a", 1)
	for range 3 {
		if _, err := p.Exec(ctx); err == nil {
			return nil
		}
	}
	return nil
}

func (s *service) answered(ctx context.Context, key string) (int64, error) {
	p := s.rdb.TxPipeline() // want `^not fixed: a TxPipeline is not followed by one command and Exec`
	n := p.HSet(ctx, key, "a", 1)
	_, err := p.Exec(ctx)
	return 0, errOf(n, err)
}

func errOf(cmd *redis.IntCmd, err error) error { return err }

func (s *service) returned() redis.Pipeliner {
	return s.rdb.TxPipeline() // want `^not fixed: the pipeline is not assigned to a new variable`
}

func (s *service) counter(ctx context.Context, key string) error {
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { // want `^not fixed: go-redis sends Incr again if its answer is lost, and a transaction only once`
		p.Incr(ctx, key)
		return nil
	})
	return err
}

func (s *service) popped(ctx context.Context, key string) error {
	p := s.rdb.TxPipeline() // want `^not fixed: go-redis sends BLPop again`
	p.BLPop(ctx, time.Second, key)
	_, err := p.Exec(ctx)
	return err
}
