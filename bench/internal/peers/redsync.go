package peers

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type redsyncs struct {
	counter
	rdb   *redis.Client
	locks *redsync.Redsync
	delay delay
}

func openRedsync(d delay) func(Options) (Impl, error) {
	return func(o Options) (Impl, error) {
		rdb := Client(o)
		return &redsyncs{rdb: rdb, locks: redsync.New(goredis.NewPool(rdb)), delay: d}, nil
	}
}

func (r *redsyncs) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	lock, err := r.lock(ctx, key)
	if err != nil {
		return err
	}
	err = getSet(ctx, r.rdb, key, fn)
	if _, unlockErr := lock.UnlockContext(context.WithoutCancel(ctx)); err == nil {
		err = unlockErr
	}
	return err
}

// lock continues when redsync gives up, by default after 32 tries. The other implementations do not
// give up.
func (r *redsyncs) lock(ctx context.Context, key string) (*redsync.Mutex, error) {
	wait := r.delay
	options := []redsync.Option{redsync.WithExpiry(lease)}
	if wait != nil {
		options = append(options, redsync.WithRetryDelayFunc(func(try int) time.Duration {
			r.n.Add(1)
			return wait(try)
		}))
	}
	m := r.locks.NewMutex("lock:"+key, options...)
	for {
		err := m.LockContext(ctx)
		_, taken := errors.AsType[*redsync.ErrTaken](err)
		if err == nil || ctx.Err() != nil || !taken && !errors.Is(err, redsync.ErrFailed) {
			return m, err
		}
		r.n.Add(1)
	}
}

func (r *redsyncs) Close() error { return r.rdb.Close() }

// lease is the lease of all implementations.
const lease = 10 * time.Second

// getSet updates a key under a held lock.
func getSet(ctx context.Context, rdb *redis.Client, key string, fn func([]byte) ([]byte, error)) error {
	old, err := value(rdb.Get(ctx, key))
	if err != nil {
		return err
	}
	next, err := fn(old)
	if err != nil {
		return err
	}
	return rdb.Set(ctx, key, next, 0).Err()
}
