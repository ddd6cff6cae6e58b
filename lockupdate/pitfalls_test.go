package lockupdate_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// This file and pitfalls_wait_test.go have tests for known pitfalls of other lock libraries. "repo#n" is
// an issue that reports it. Other tests show the rest:
//
//   - 1, a client retries a commit whose reply was lost, and applies it twice (go-redis#1551,
//     go-redis#2339, jedis#3187, redis-rb#668): TestSlowScriptRunsOnce
//   - 7, a renewal takes a lost lock again, or that of its new owner (redis-semaphore#175,
//     redsync#149, redlock-rb#36): clauses taken-away and not-anothers of locktest
//   - 8, a holder that stalls past its lease overwrites the next one's value (etcd#10811,
//     redisson#3636, redislock#93, redisson#6510): TestStallsPastTheLease
//   - 10, pub/sub, and scripts with several keys (redisson#2338, redisson#2541, redisson#4989,
//     redisson#6867, redisson#7116): TestEveryCommandIsPermittedByEveryProfile
//   - 17, a published release goes to every node and wakes every waiter (redisson#3349):
//     TestScriptsRunOnRedis32
//   - 18, the wall clock of a server jumps, and leases end early or late (valkey#2651, redis#416): TestScriptsRunOnRedis32,
//     since the scripts get durations, and TestFirstPause of internal/poll
//   - 19, after a restart without data, or a failover to a lagging replica, a server grants a held lock again
//     (redislock#30, redsync#147): clause token-over-failover of locktest, TestLeaseLostInABatch
//   - 20, a write drops the TTL (lettuce#1234, valkey-admin#488): the ttl clauses of rmwtest
//   - 21, renewals of many locks are late (redisson#6303): TestRenewalsShareFlushes

// An acquire whose reply was lost holds the lock. The retry waits for it, or an error leaves it for
// a whole lease (node-redlock#369, sim#6864, openlinker#2717). The script of lockupdate recognises
// its owner, and a failed call releases.
func TestPitfall02LostAcquireReplyBlocksItself(t *testing.T) {
	for _, lost := range []int{1, 2, 3} {
		cfg := lockupdate.Config{Lease: 10 * time.Second}
		eachStore(t, cfg, func(t *testing.T, f *fixture, s nativeStore) {
			cfg.Commit = s.commit
			key, other := f.warmKey(), f.another(cfg)
			f.proxy.Inject(proxytest.Fault{Match: isRequest("acquire"), Times: lost, Action: proxytest.DropReply})
			began := time.Now()
			res, err := f.store.Update(t.Context(), key, appendText("x"))
			if lost < 3 {
				require.NoError(t, err)
				assert.Zero(t, res.Waited, "the retry must not wait for its own lock")
			} else {
				require.ErrorIs(t, err, rmw.ErrUnavailable)
			}
			require.NoError(t, operations["update"](t.Context(), other))
			assert.Less(t, time.Since(began), 300*time.Millisecond)
			lockupdate.Settle(other)
			assert.False(t, f.hasLock("s"))
		})
	}
}

// A release with the canceled ctx of its caller is not sent, and the lock stays for its lease
// (open-match#1578, blnk#355, ncps#913, authgear#5721). The same happens without a retry
// (redis-py#3847). lockupdate releases with its own ctx.
func TestPitfall03ReleaseWithACancelledCtx(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, s *lockupdate.Store, leave func()) error{
		"Update": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, testKey, duringFirstCall(leave, appendText("x")))
			return err
		},
		"commit": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				time.AfterFunc(time.Millisecond, leave) // while the commit is in flight
				return cur.WithTTL(time.Hour), nil
			})
			return err
		},
		"WithLock": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			return s.WithLock(ctx, "s", func(ctx context.Context) error { leave(); return ctx.Err() })
		},
	} {
		bubbleWithKey(t, name, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture, _ rmw.Key) {
			other := f.another(lockupdate.Config{})
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: 2 * time.Millisecond})
			f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Times: 2, Action: proxytest.DropRequest})
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			require.ErrorIs(t, use(ctx, f.store, cancel), context.Canceled)
			assert.Error(t, ctx.Err())
			require.NoError(t, other.WithLock(t.Context(), "s", nothing))
			assert.Less(t, time.Since(began), 300*time.Millisecond)
		})
	}
}

// A watchdog that renews after the unlock, or for a dead holder, keeps a lock that has no holder
// (redisson#7272, redisson#1966, redisson#4368, redisson#4178). In lockupdate, renewal ends before
// the release, which waits for a renewal in flight, however fn ends.
func TestPitfall04RenewalAfterUnlock(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {},
		"panics":  func() { panic("a bug") },
		"exits":   runtime.Goexit,
	} {
		const lease = 10 * time.Second
		bubbleWithKey(t, name, lockupdate.Config{Lease: lease}, func(t *testing.T, f *fixture, _ rmw.Key) {
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.Delay, Delay: lease / 5})
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_ = f.store.WithLock(t.Context(), "s", func(context.Context) error {
					time.Sleep(lease * 6 / 10) // a renewal is in flight
					end()
					return nil
				})
			}()
			<-done
			f.waitReleases()
			assert.Equal(t, []string{"acquire", "renew", "release"}, slices.Compact(f.calls()))
			f.proxy.ResetCalls()
			time.Sleep(3 * lease)
			assert.Empty(t, f.calls())
			assert.False(t, f.hasLock("s"))
		})
	}
}

// lockAll takes locks and unlocks them at the end of the test.
func (f *fixture) lockAll(names ...string) []locking.Hold {
	locks := make([]locking.Hold, len(names))
	for i, name := range names {
		l := f.hold(f.t.Context(), f.store, name)
		f.t.Cleanup(func() { _ = l.Unlock() })
		locks[i] = l
	}
	return locks
}

// If a watchdog hangs, or stops at one bad entry, holders continue without their locks
// (redisson#3194, redisson#3712, redisson#5698, redisson#6483, consul#18271, consul#4935). Each
// lease of lockupdate ends on the local clock, before it ends on the server: see
// TestLostLeaseEndsCtx. A failed renewal or flush costs no other lease.
func TestPitfall05WatchdogStallsUnnoticed(t *testing.T) {
	const lease = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: lease, MaxHold: time.Hour})
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
		assert.Negative(t, left.Load(), "the hook was called, and panicked")
		require.NoError(t, locks[1].Context().Err())
		require.NoError(t, f.direct().Set(t.Context(), lock+"b", "not a lock", 0).Err())
		time.Sleep(3 * lease)
		require.NoError(t, locks[0].Context().Err())
		require.ErrorIs(t, context.Cause(locks[1].Context()), rmw.ErrLockLost)
		require.ErrorIs(t, locks[1].Unlock(), rmw.ErrLockLost)
		require.NoError(t, locks[2].Context().Err())
	})
}

// Unlimited renewal turns a stuck holder into a deadlock (RedLock.net#68, aioredlock#52).
// Config.MaxHold ends it by default: here an update of the same key within fn, which is detected only with
// the ctx of fn.
func TestPitfall06UnlimitedRenewal(t *testing.T) {
	for name, do := range ways {
		for _, same := range []bool{true, false} {
			bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) { // MaxHold of a minute, leases of 10 s
				other := f.store
				if !same {
					other = f.another(lockupdate.Config{Poll: rmw.Backoff{Base: time.Second, Max: time.Second}})
				}
				_, err := do(t.Context(), f.store, testKey, duringFirstCall(func() {
					began := time.Now()
					_, err := other.Update(t.Context(), testKey, appendText("inner"))
					require.NoError(t, err)
					assert.InDelta(t, time.Minute, time.Since(began), float64(2*time.Second))
				}, appendText("outer")))
				require.ErrorIs(t, err, rmw.ErrLockLost)
				assert.Equal(t, "inner", f.text(testKey))
			})
		}
	}
}
