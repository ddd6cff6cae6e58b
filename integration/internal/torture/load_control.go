package torture

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// mistakes are those of the stores of a load together.
type mistakes struct {
	calls atomic.Int64
	mu    sync.Mutex
	kept  [][]byte
	end   <-chan struct{} // of the goroutines that they leave
}

// openSpoiled opens stores that keep memory and goroutines, lose updates, and leave a lock. The callers of one of
// them hardly get in.
func openSpoiled(ctx context.Context) loadOpener {
	m := &mistakes{end: ctx.Done()}
	return func(rdb *redis.Client, process int) loadStore {
		store := lockupdate.New(rdb, lockupdate.Config{Lease: loadLease})
		return &spoiled{Store: store, mistakes: m, rdb: rdb, starved: process == 0}
	}
}

type spoiled struct {
	*lockupdate.Store
	*mistakes
	rdb     *redis.Client
	starved bool
	waiting atomic.Bool
}

// Update implements rmw.Store.
func (s *spoiled) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	n := s.calls.Add(1)
	if n%10 == 0 {
		s.mu.Lock()
		s.kept = append(s.kept, make([]byte, 2048))
		s.mu.Unlock()
	}
	if n%100 == 0 {
		go func() { <-s.end }()
	}
	if n%1000 == 0 {
		_, err := fn(ctx, rmw.Value{})
		return rmw.Result{}, err
	}
	if s.starved {
		s.starve(ctx, key)
	}
	return s.Store.Update(ctx, key, fn)
}

// starve lets one caller wait for the end of the round, and the others come to the one key all at once, so that
// they share a turn.
func (s *spoiled) starve(ctx context.Context, key rmw.Key) {
	if s.waiting.CompareAndSwap(false, true) {
		defer s.waiting.Store(false)
		_ = pause(ctx, loadPatience+time.Second)
		for n := int64(-1); n != s.calls.Load(); {
			n = s.calls.Load()
			_ = pause(ctx, loadLease/4)
		}
	} else if key.Name == loadKey(0) {
		_ = pause(ctx, time.Until(time.Now().Truncate(loadLease).Add(loadLease)))
	}
}

// Close implements loadStore.
func (s *spoiled) Close() error {
	return errors.Join(s.Store.Close(), s.rdb.Set(context.Background(), "/lock/"+loadKey(1), "spoiled", 0).Err())
}
