package lockupdate_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// lockAll takes locks and unlocks them at the end of the test.
func (f *fixture) lockAll(names ...string) []locking.Hold {
	locks := make([]locking.Hold, len(names))
	for i, name := range names {
		l, err := f.store.Lock(f.t.Context(), name)
		require.NoError(f.t, err)
		f.t.Cleanup(func() { _ = l.Unlock() })
		locks[i] = l
	}
	return locks
}

// If a watchdog hangs, or stops at one bad entry, holders continue without their locks
// (redisson#3194, redisson#3712, redisson#5698, redisson#6483, consul#18271, consul#4935). Each
// lease of lockupdate ends on the local clock, before it ends on the server: see
// TestFailedRenewalsEndCtx. A failed renewal or flush costs no other lease.
func TestPitfall05WatchdogStallsUnnoticed(t *testing.T) {
	const lease = 10 * time.Second
	lost := func(t *testing.T, l locking.Hold) {
		require.ErrorIs(t, context.Cause(l.Context()), rmw.ErrLockLost)
		require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
	}
	bubble(t, "one bad entry", func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: lease})
		locks := f.lockAll("a", "b", "c")
		require.NoError(t, f.direct().Set(t.Context(), lock+"b", "not a lock", 0).Err())
		time.Sleep(3 * lease)
		require.NoError(t, locks[0].Context().Err())
		lost(t, locks[1])
		require.NoError(t, locks[2].Context().Err())
	})
	bubble(t, "panics", func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: lease})
		var left atomic.Int64
		left.Store(3)
		f.rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			if len(cmds) > 1 && left.Add(-1) >= 0 {
				panic("a bug in a hook")
			}
			return next()
		}))
		locks := f.lockAll("a", "b", "c")
		time.Sleep(3 * lease)
		for _, l := range locks {
			require.NoError(t, l.Context().Err())
		}
		assert.Negative(t, left.Load(), "the hook was called, and panicked")
	})
}

// Unlimited renewal turns a stuck holder into a deadlock (RedLock.net#68, aioredlock#52).
// Config.MaxHold ends it by default.
func TestPitfall06UnlimitedRenewal(t *testing.T) {
	for name, use := range map[string]func(s *lockupdate.Store, stuck func()) error{
		"Update": func(s *lockupdate.Store, stuck func()) error {
			_, err := s.Update(context.Background(), rmw.Key{Name: "s"}, duringFirstCall(stuck, appendText("x")))
			return err
		},
		"WithLock": func(s *lockupdate.Store, stuck func()) error {
			return s.WithLock(context.Background(), "s", func(context.Context) error { stuck(); return nil })
		},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{}) // MaxHold of a minute, leases of 10 s
			other := f.another(lockupdate.Config{Poll: rmw.Backoff{Base: time.Second, Max: time.Second}})
			inside, stuck, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			unblock := sync.OnceFunc(func() { close(stuck) })
			defer unblock()
			go func() { done <- use(f.store, func() { close(inside); <-stuck }) }()
			<-inside
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			began := time.Now()
			_, err := other.Update(ctx, rmw.Key{Name: "s"}, appendText("y"))
			require.NoError(t, err)
			assert.InDelta(t, time.Minute, time.Since(began), float64(2*time.Second))
			unblock()
			require.ErrorIs(t, <-done, rmw.ErrLockLost)
		})
	}
}

// If the wall clock of a server jumps, leases end early or late (valkey#2651, redis#416). With
// PXAT, the clock of the client matters too. lockupdate sends durations, measures leases on the
// monotonic clock, and guards every commit. TestPitfall19ServerRestartLosesTheLock shows a lock that ends early.
func TestPitfall18WallClockJumps(t *testing.T) {
	for name, source := range lockupdate.Scripts() {
		assert.NotRegexp(t, `(?i)'(PXAT|EXAT|TIME|P?EXPIREAT|P?EXPIRETIME)'`, source, name)
	}
	synctest.Test(t, func(t *testing.T) { // back: the lease seems long
		const lease = 10 * time.Second
		f := newFixture(t, lockupdate.Config{Lease: lease})
		other := f.another(lockupdate.Config{})
		l := f.lockAll("s")[0]
		f.proxy.Engine(f.proxy.BackendOf(lock+"s")).SetTTL(lock+"s", time.Hour+lease)
		time.AfterFunc(time.Second, func() { assert.NoError(t, l.Unlock()) })
		began := time.Now()
		require.NoError(t, other.WithLock(t.Context(), "s", nothing))
		assert.InDelta(t, time.Second, time.Since(began), float64(100*time.Millisecond))
	})
}

// After a restart without data, or a failover to a lagging replica, the server grants a held lock
// again (redislock#30, redsync#147). The guard still bases every update on the stored value.
func TestPitfall19ServerRestartLosesTheLock(t *testing.T) {
	for name, tc := range map[string]struct {
		lose func(f *fixture)
		want string
	}{
		"everything": {func(f *fixture) {
			for i := range 2 {
				f.proxy.Engine(i).FlushAll()
			}
		}, "+theirs+mine"},
		"the lock": {func(f *fixture) { f.proxy.Engine(f.proxy.BackendOf(lock + "s")).Del(lock + "s") }, "www+theirs+mine"},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{})
			other := f.another(lockupdate.Config{})
			res, err := f.store.Update(t.Context(), key, duringFirstCall(func() {
				tc.lose(f)
				f.forgetScripts()
				res, err := other.Update(t.Context(), key, appendText("+theirs"))
				require.NoError(t, err)
				assert.Zero(t, res.Waited, "control: the lock is lost")
			}, appendText("+mine")))
			require.NoError(t, err)
			assert.Equal(t, 2, res.Attempts)
			assert.Equal(t, tc.want, f.text(key))
		})
	}
}
