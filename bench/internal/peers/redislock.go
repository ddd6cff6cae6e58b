package peers

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type redislocks struct {
	counter
	rdb   *redis.Client
	locks *redislock.Client
	delay delay
}

func openRedislock(d delay) func(Options) (Impl, error) {
	return func(o Options) (Impl, error) {
		rdb := Client(o)
		return &redislocks{rdb: rdb, locks: redislock.New(rdb), delay: d}, nil
	}
}

// strategy counts the tries of one call.
type strategy struct {
	*redislocks
	try int
}

func (s *strategy) NextBackoff() time.Duration {
	s.n.Add(1)
	s.try++
	return s.delay(s.try)
}

func (r *redislocks) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	lock, err := r.obtain(ctx, key)
	if err != nil {
		return err
	}
	err = getSet(ctx, r.rdb, key, fn)
	if releaseErr := lock.Release(context.WithoutCancel(ctx)); err == nil {
		err = releaseErr
	}
	return err
}

// obtain continues when redislock gives up.
func (r *redislocks) obtain(ctx context.Context, key string) (*redislock.Lock, error) {
	for {
		lock, err := r.locks.Obtain(ctx, "lock:"+key, lease, &redislock.Options{RetryStrategy: &strategy{redislocks: r}})
		if err == nil {
			return lock, nil
		}
		// Without a deadline, redislock gives up after one lease.
		gaveUp := errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded)
		if ctx.Err() != nil || !gaveUp {
			return nil, err
		}
	}
}

func (r *redislocks) Close() error { return r.rdb.Close() }
