package lockupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/contract"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
)

// lockers returns a Store as the target of the suite for Lockers.
func lockers(t *testing.T, cfg lockupdate.Config) locktest.Target {
	return lockersOf(newFixture(t, cfg), cfg)
}

func lockersOf(f *fixture, cfg lockupdate.Config) locktest.Target {
	clients := map[locking.Locker]*contract.Network{}
	return locktest.Target{
		Open: func(tb testing.TB) locking.Locker {
			opts := f.proxy.Options()
			c := &contract.Network{}
			opts.Dialer = c.Dialer(opts.Dialer)
			rdb := redis.NewClient(opts)
			s := lockupdate.New(rdb, cfg)
			clients[s] = c
			tb.Cleanup(func() {
				_ = s.Close()
				_ = rdb.Close()
			})
			return s
		},
		Reentrant:      true,
		Tokens:         true,
		Lease:          cfg.Lease,
		ReleasedWithin: time.Second,
		Faults: locktest.Faults{
			TakeAway: func(ctx context.Context, name string) error {
				rdb := redis.NewClient(f.proxy.Options())
				defer func() { _ = rdb.Close() }()
				return rdb.Del(ctx, lock+name).Err()
			},
			Cut:   func(l locking.Locker) (restore func()) { return clients[l].Cut() },
			Stall: func(l locking.Locker, d time.Duration) { l.(*lockupdate.Store).Stall(d) },
		},
	}
}

func TestLocker(t *testing.T) {
	locktest.RunFake(t, func(t *testing.T) locktest.Target {
		return lockers(t, lockupdate.Config{Lease: 10 * time.Second})
	})
}

func TestLockerWithLinger(t *testing.T) {
	locktest.RunFake(t, func(t *testing.T) locktest.Target {
		return lockers(t, lockupdate.Config{Lease: 10 * time.Second, Linger: 50 * time.Millisecond})
	})
}
