package lockupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
)

// lockers returns a Store as the target of the suite for Lockers.
func lockers(t *testing.T, cfg lockupdate.Config) locktest.Target {
	return lockersOf(newFixture(t, cfg), cfg)
}

func lockersOf(f *fixture, cfg lockupdate.Config) locktest.Target {
	maxHold := cfg.MaxHold
	if maxHold == 0 {
		cfg.MaxHold = 2 * time.Hour // more than the patience
	}
	clients := map[locking.Locker]*contract.Network{}
	start := func(tb testing.TB, cfg lockupdate.Config, rdb *redis.Client, c *contract.Network) locking.Locker {
		s := lockupdate.New(rdb, cfg)
		clients[s] = c
		tb.Cleanup(func() { _ = s.Close() })
		return s
	}
	connect := func(tb testing.TB) (*redis.Client, *contract.Network) {
		opts, c := f.proxy.Options(), &contract.Network{}
		opts.Dialer = c.Dialer(opts.Dialer)
		rdb := redis.NewClient(opts)
		tb.Cleanup(func() { _ = rdb.Close() })
		return rdb, c
	}
	open := func(tb testing.TB, cfg lockupdate.Config) locking.Locker {
		rdb, c := connect(tb)
		return start(tb, cfg, rdb, c)
	}
	return locktest.Target{
		Open: func(tb testing.TB) locking.Locker { return open(tb, cfg) },
		Observe: func(tb testing.TB, o locking.Observer) locking.Locker {
			observed := cfg
			observed.Observer = o
			return open(tb, observed)
		},
		Share: func(tb testing.TB) (a, b locking.Locker) {
			rdb, c := connect(tb)
			return start(tb, cfg, rdb, c), start(tb, cfg, rdb, c)
		},
		Reentrant:      true,
		Tokens:         true,
		Lease:          cfg.Lease,
		LockDelay:      cfg.LockDelay,
		MaxHold:        maxHold,
		Patience:       time.Hour,
		Fair:           cfg.Commit == lockupdate.CommitGuarded,
		Jeopardy:       true,
		ReleasedWithin: time.Second,
		Faults: locktest.Faults{
			TakeAway: func(ctx context.Context, name string) error { return f.direct().Del(ctx, lock+name).Err() },
			Cut:      func(l locking.Locker) (restore func()) { return clients[l].Cut() },
			Stall:    func(l locking.Locker, d time.Duration) { l.(*lockupdate.Store).Stall(d) },

			LoseReply: func(l locking.Locker) (restore func()) { return clients[l].LoseReplies() },
			Late:      func(l locking.Locker) (deliver func()) { return clients[l].Delay() },
			Reconnect: func(l locking.Locker) { clients[l].Break() },
			Restart:   f.restart,
			Forget: func() {
				for i := range f.proxy.Backends() {
					f.proxy.Engine(i).FlushAll()
				}
				f.restart()
			},
			Clock: func(d time.Duration) {
				for i := range f.proxy.Backends() {
					f.proxy.Engine(i).FastForward(d) // the rest of each expiry is shorter, or longer
				}
			},
		},
	}
}

// restart restarts the servers with their data. Their caches of scripts are empty then.
func (f *fixture) restart() {
	for i := range f.proxy.Backends() {
		require.NoError(f.t, f.proxy.FlushScripts(i))
		f.proxy.Down(i)
		f.proxy.Up(i)
	}
}

func TestLocker(t *testing.T) {
	cfgs := map[string]lockupdate.Config{
		"default":    {},
		"lock delay": {LockDelay: 5 * time.Second},
		"linger":     {Linger: 50 * time.Millisecond},
		"on demand":  {LockOnDemand: true},
	}
	for _, s := range nativeStores {
		cfgs[s.commit.String()] = lockupdate.Config{Commit: s.commit, LockDelay: s.delay}
	}
	for name, cfg := range cfgs {
		t.Run(name, func(t *testing.T) {
			if cfg.Commit > lockupdate.CommitIFEQ || name == "lock delay" {
				long.Repeats(t)
			}
			runLocker(t, cfg)
		})
	}
}

// MaxHold is told as the reason of a loss. The clause "max-hold" asks for more than a Store promises: the Store counts in ticks of its
// timing wheel, which began up to one before the call.
func TestLockerWithMaxHold(t *testing.T) {
	runLocker(t, lockupdate.Config{MaxHold: 40 * time.Second}, "told-max-hold")
}

// runLocker runs the clauses of these names, or all.
func runLocker(t *testing.T, cfg lockupdate.Config, names ...string) {
	cfg.Lease = 10 * time.Second
	locktest.RunFake(t, func(t *testing.T) locktest.Target { return lockers(t, cfg) }, names...)
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	declared := lockersOf(nil, lockupdate.Config{Lease: 10 * time.Second, LockDelay: time.Second})
	require.NoError(t, doccheck.HasLines("../docs/locks.md", declared.Row("Redis")))
	require.NoError(t, doccheck.HasLines("../docs/results/locks.md", declared.Skipped("Redis")))
}
