package lockupdate_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
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
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// This file has tests for known pitfalls of other lock libraries. "repo#n" is
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
//   - 16, one error for several reasons does not tell callers how to react (redsync#81, redsync#98, redsync#164, node-redlock#65,
//     node-redlock#131, node-redlock#168, redisson#5000): TestErrorsMatchTheirReasons
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
			wait(startLocked(t.Context(), f.store, "s", func(context.Context) error {
				time.Sleep(lease * 6 / 10) // a renewal is in flight
				end()
				return nil
			}))
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
	withFixture(t, lockupdate.Config{Lease: lease, MaxHold: time.Hour}, func(t *testing.T, f *fixture) {
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
		f.set(lock+"b", "not a lock", 0)
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

// A waiter that misses its wake-up sleeps for the holder's whole lease, or forever (redisson#2338,
// redisson#5761, rueidis#602, rueidis#653). Between processes, every wait of lockupdate ends with a
// poll: see TestPitfall22RetryLimits. Within a process, a caller that leaves wakes the next one.
func TestPitfall12LostWakeUp(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		use := func(ctx context.Context, section bool) *pendingCall {
			if section {
				return startLocked(ctx, f.store, "s", nothing)
			}
			return start(ctx, f.store, key, appendText("x"))
		}
		left := 0
		for i := range 40 { // in half of the rounds, the leaver gets the lock first
			l := f.lockAll("s")[0]
			ctx, cancel := context.WithCancel(t.Context())
			leaver, stayer := use(endingCtx{ctx, cancel}, i%2 == 0), use(t.Context(), i%4 < 2)
			require.NoError(t, l.Unlock())
			began := time.Now()
			if wait(leaver); leaver.err != nil {
				require.ErrorIs(t, leaver.err, context.Canceled)
				left++
			}
			succeed(t, stayer)
			require.Less(t, time.Since(began), time.Second)
		}
		assert.Positive(t, left)
	})
}

// endingCtx is a ctx that ends when its waiter gets the lock.
type endingCtx struct {
	context.Context
	leave func()
}

func (c endingCtx) Done() <-chan struct{} {
	time.Sleep(20 * time.Millisecond) // meanwhile the waiter gets the lock
	c.leave()
	return c.Context.Done()
}

// Waiters that poll at fixed intervals poll at the same time, and overload the server
// (juicefs#7336, juicefs#34, medusa#15143, node-redlock#37, ioredis#1574, discourse#17886,
// spring-integration#3690). lockupdate has one poller per process, with growing jittered pauses,
// and polls at the end of the holder's lease.
func TestPitfall13Herd(t *testing.T) {
	const waiters, long = 100, 10 * time.Second
	withKey(t, lockupdate.Config{MaxWait: long}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.takeAsOther(key, 0)
		var mu sync.Mutex
		var last time.Time
		gaps := map[time.Duration]bool{}
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Times: -1, Do: func() {
			mu.Lock()
			defer mu.Unlock()
			gaps[time.Since(last)] = true
			last = time.Now()
		}})
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.ErrorIs(t, err, rmw.ErrContended)
			})
			time.Sleep(5 * time.Millisecond) // a new waiter does not poll by itself
		}
		wg.Wait()
		polls := f.sent()["acquire"]
		assert.InDelta(t, long/(32*time.Millisecond), polls, 100, "as of one waiter, at pauses of 0 to 64 ms")
		assert.Greater(t, len(gaps), polls*9/10, "pauses are alike")
	})
}

// A lock that identifies its owner by goroutine or thread admits other work on it, and excludes the
// owner's helpers (redisson#3580, redisson#4178, redisson#4956, redisson#6662, redisson#6881).
// lockupdate identifies the owner by ctx: see also the clauses nested-elsewhere and stale-ctx of locktest.
func TestPitfall14ReentrancyByGoroutine(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxWait: time.Second}, func(t *testing.T, f *fixture) {
		var outlived context.Context
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			outlived = context.WithoutCancel(ctx)
			succeed(t, start(ctx, f.store, testKey, appendText("helper"))) // another goroutine of the holder
			require.ErrorIs(t, f.another(lockupdate.Config{}).TryLock(ctx, "s", nothing), rmw.ErrContended, "another Store")
			return nil
		}))
		f.waitReleases()
		f.takeAsOther(testKey, 0)
		_, err := f.store.Update(outlived, testKey, appendText("too late"))
		require.ErrorIs(t, err, rmw.ErrContended, "a ctx that has outlived its lock")
		assert.Equal(t, "helper", f.text(testKey))
	})
}

// A fixed number of tries surprises callers that wait for longer (redsync#74, redsync#82), and no
// limit surprises others (redis-py#566). In lockupdate, ctx and Config.MaxWait limit the wait, and no poll is later than the end of
// the holder's lease, for any Config.Poll. Config.MaxAttempts limits the calls of fn, not the polls.
func TestPitfall22RetryLimits(t *testing.T) {
	const held = 30 * time.Second
	for name, cfg := range map[string]lockupdate.Config{
		"many polls": {MaxAttempts: 1}, "one poll": {Poll: rmw.Backoff{Base: time.Hour, Max: time.Hour}}, "MaxWait": {MaxWait: held / 3},
	} {
		bubbleWithKey(t, name, cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			f.takeAsOther(key, held)
			began := time.Now()
			res, err := f.store.Update(t.Context(), key, appendText("x"))
			assert.Equal(t, time.Since(began), res.Waited)
			if cfg.MaxWait == 0 {
				require.NoError(t, err)
				assert.InDelta(t, held, res.Waited, float64(2*time.Millisecond))
				assert.Equal(t, name == "many polls", f.sent()["acquire"] > 500)
				assert.Equal(t, 1, res.Attempts, "waiting does not count as an attempt")
				return
			}
			require.ErrorIs(t, err, rmw.ErrContended)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "MaxWait")
			assert.True(t, rmw.Retryable(err))
			assert.Equal(t, cfg.MaxWait, res.Waited)
			assert.Zero(t, res.Attempts)
		})
	}
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		legacy := f.direct()
		res, err := f.store.Update(t.Context(), testKey, within(func(ctx context.Context) {
			require.NoError(t, legacy.Append(ctx, "s", "theirs").Err())
		}, appendText("mine")))
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, 100, res.Attempts)
		assert.Equal(t, strings.Repeat("theirs", 100), f.text(testKey), "as often was fn called")
	})
}

// After a failover or a slot migration, a server answers NOSCRIPT, and a client does not retry that
// in a pipeline. Proxies refuse SCRIPT LOAD, or send it to any server (go-redis#3228,
// redis-py#4206, codis#526, codis#1368). lockupdate sends each such call again as EVAL.
func TestPitfall09NoScriptInPipelines(t *testing.T) {
	withKey(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
		forget := func(round int) {
			for backend := range 2 {
				if round&(backend+1) == 0 {
					require.NoError(t, f.proxy.FlushScripts(backend))
				}
			}
		}
		forget(0)
		pipe := f.rdb.Pipeline()
		ran := redis.NewScript("return 1").Run(t.Context(), pipe, []string{"s"})
		_, _ = pipe.Exec(t.Context())
		require.ErrorContains(t, ran.Err(), "NOSCRIPT", "control: the pitfall exists")
		f.proxy.ResetCalls()

		// Acquire and read, renewals, commit and release, each after one or both servers
		// lost their script caches.
		for round := range 4 {
			forget(round)
			err := f.store.WithLocks(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context) error {
				res, err := f.store.Update(ctx, key, duringFirstCall(func() {
					forget(round)
					time.Sleep(20 * time.Second) // four renewals
					forget(round)
				}, appendText("x")))
				assert.Equal(t, 1, res.Attempts)
				return err
			})
			require.NoError(t, err)
			f.waitReleases()
		}
		assert.Equal(t, "wwwxxxx", f.text(key))
		assert.Positive(t, f.proxy.Count()["EVAL"])
		assert.Zero(t, f.proxy.Count()["SCRIPT"])
	})
}

// Proxies refuse the handshake of go-redis, or break shared connections because of it
// (go-redis#2616, go-redis#2792, go-redis#3536, go-redis#3853). With proxycompat.Options, go-redis
// sends none.
func TestPitfall11HandshakeCommands(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
		bubble(t, profile.Name(), func(t *testing.T) {
			f := newFixtureOn(t, profile, lockupdate.Config{})
			firstUpdate := func(opts *redis.Options) (sent map[string]int, err error) {
				f.proxy.ResetCalls()
				rdb := redis.NewClient(opts)
				store := lockupdate.New(rdb, lockupdate.Config{})
				_, err = store.Update(t.Context(), testKey, appendText("x"))
				err = errors.Join(err, store.Close(), rdb.Close())
				return f.proxy.Count(), err
			}
			opts := proxycompat.Options(profile, f.proxy.Addr())
			opts.Dialer = proxycompat.HelloDialer(f.proxy.Dial)
			sent, err := firstUpdate(opts)
			require.NoError(t, err)
			assert.Equal(t, map[string]int{"EVAL": 4, "EVALSHA": 4}, sent)
			sent, err = firstUpdate(&redis.Options{Addr: f.proxy.Addr(), Dialer: f.proxy.Dial})
			assert.Positive(t, sent["HELLO"], "control: the pitfall exists")
			if profile.Name() == "twemproxy" {
				require.Error(t, err, "control")
			}
		})
	}
}

// A proxy may reorder the commands of a pipeline (pikiwidb#2174, which is Codis): a read before its
// acquire, or a release before its commit. The guard makes the first harmless. The release waits
// for the reply to the commit: see TestUnknownIsCountedAndLogsNoValue.
func TestPitfall15PipelineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Engines: 2, Reorder: true}, lockupdate.Config{})
		key := f.warmKey()
		other := f.another(lockupdate.Config{})
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Do: func() {
			_, err := other.Update(t.Context(), key, appendText("+theirs"))
			assert.NoError(t, err)
			lockupdate.Settle(other)
		}})
		res := f.update(key, appendText("+mine"))
		assert.Zero(t, res.Waited, "control: the lock was free")
		assert.Equal(t, 2, res.Attempts, "control: the value was read before the acquire")
		assert.Equal(t, "www+theirs+mine", f.text(key))
	})
}
