package lockupdate_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// An Update within WithLock runs under the held lock: no acquire, no release, and the same guard.
func TestUpdateWithinWithLock(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		err := f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			_, err := f.store.Update(ctx, key, appendText("1"))
			require.NoError(t, err)
			res, err := f.store.Update(ctx, key, duringFirstCall(f.writeBeside, appendText("2")))
			require.NoError(t, err)
			assert.Equal(t, 2, res.Attempts)
			return nil
		})
		require.NoError(t, err)
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "commit_string", "read", "SET", "commit_string", "commit_string", "release"}, f.calls())
		assert.Equal(t, "theirs2", f.text(key))
	})
}

// Updates and critical sections of one key exclude each other. Within a process, the lock passes
// between them without commands.
func TestSectionsAndUpdatesShareAQueue(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		section := startLocked(t.Context(), f.store, "s", func(context.Context) error {
			time.Sleep(3 * time.Second)
			f.set("s", "section,", 0)
			return nil
		})
		res := f.update(key, appendText("update"))
		succeed(t, section)
		assert.Equal(t, "section,update", res.After.Text())
		assert.Equal(t, 3*time.Second, res.Waited)
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "SET", "renew", "read", "commit_string", "release"}, slices.Compact(f.calls()),
			"one holder. After a long section, a renewal asks whether other processes wait.")
	})
}

// WithLocks takes all locks or none, in an order that does not depend on the caller: else two callers could deadlock.
func TestWithLocksIsAllOrNothing(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxWait: time.Second}, func(t *testing.T, f *fixture) {
		f.takeAsOther(rmw.Key{Name: "b"}, 0)
		err := f.store.WithLocks(t.Context(), []string{"c", "b", "a", "a"}, func(context.Context) error {
			t.Error("fn was called")
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrContended)
		f.waitReleases()
		for _, c := range f.proxy.Calls() {
			assert.NotContains(t, c.Args, lock+"c", "it comes after b, which is taken")
		}
		rdb := f.direct()
		assert.Zero(t, rdb.Exists(t.Context(), lock+"a", lock+"c").Val())
		require.NoError(t, rdb.Del(t.Context(), lock+"b").Err())
		require.NoError(t, f.store.WithLocks(t.Context(), []string{"c", "b", "a", "a"}, func(ctx context.Context) error {
			assert.EqualValues(t, 3, rdb.Exists(t.Context(), lock+"a", lock+"b", lock+"c").Val())
			return f.store.WithLock(ctx, "b", nothing)
		}))
		require.NoError(t, f.store.WithLocks(t.Context(), nil, nothing))
	})
}

// Inspect reports the owner, the age and the expiry of a lock, and whether other processes wait.
func TestInspect(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		inspect := func() locking.Info {
			h, err := f.store.Inspect(t.Context(), "s")
			require.NoError(t, err)
			return h
		}
		assert.Equal(t, locking.Info{Sequencer: locking.Sequencer{Name: "s"}}, inspect())

		l := f.hold(t.Context(), f.store, "s")
		time.Sleep(2 * time.Second)
		h := inspect()
		assert.Regexp(t, `^unwatch:[A-Za-z0-9_-]{22}:[0-9a-z]{10}$`, h.Owner)
		assert.True(t, h.Held)
		assert.Equal(t, 8*time.Second, h.Left)
		assert.InDelta(t, 2*time.Second, h.Age, float64(time.Millisecond))
		assert.False(t, h.Waiters)

		other := f.another(lockupdate.Config{})
		require.ErrorIs(t, other.TryLock(t.Context(), "s", nothing), rmw.ErrContended)
		assert.False(t, inspect().Waiters, "TryLock does not wait")
		ctx := timeout(t.Context(), t, time.Millisecond)
		require.ErrorIs(t, other.WithLock(ctx, "s", nothing), rmw.ErrContended)
		assert.True(t, inspect().Waiters)
		require.NoError(t, l.Unlock())
		require.NoError(t, l.Unlock(), "only the first counts")
		f.waitReleases()

		f.putHash(lock+"s", fields("9a1f:42=3"), 0)
		foreign := locking.Sequencer{Name: "s", Owner: "9a1f:42"}
		assert.Equal(t, locking.Info{Sequencer: foreign, Held: true, Left: -time.Millisecond}, inspect())
		f.set(lock+"s", "x", 0)
		_, err := f.store.Inspect(t.Context(), "s")
		require.ErrorIs(t, err, rmw.ErrWrongKind)
	})
}

func nothing(context.Context) error { return nil }

// Unlock and ctx.Err report a lease that ended while the watchdog was stalled too.
func TestUnlockDetectsAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := make(chan struct{})
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second, Observer: func(_ context.Context, e locking.Event) {
			if e.Kind == locking.EventLost {
				<-stall
			}
		}})
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		first := f.hold(t.Context(), f.store, "first")
		time.Sleep(time.Second)
		second := f.hold(t.Context(), f.store, "second")
		third := f.hold(t.Context(), f.store, "third")
		time.Sleep(10 * time.Second)
		require.Error(t, first.Context().Err())
		require.ErrorIs(t, second.Unlock(), rmw.ErrLockLost)
		require.Error(t, third.Context().Err())
		require.ErrorIs(t, context.Cause(third.Context()), rmw.ErrLockLost)
		require.ErrorIs(t, third.Unlock(), rmw.ErrLockLost)
		close(stall)
		require.ErrorIs(t, first.Unlock(), rmw.ErrLockLost)
	})
}

// Two callers take two locks in opposite order. MaxHold ends the deadlock, and the error of the
// inner lock names it.
func TestDeadlockErrorNamesMaxHold(t *testing.T) {
	for _, stores := range []int{1, 2} {
		withFixture(t, lockupdate.Config{MaxHold: 2 * time.Second}, func(t *testing.T, f *fixture) {
			of := []*lockupdate.Store{f.store, f.store}
			if stores == 2 {
				of[1] = f.another(lockupdate.Config{MaxHold: 2 * time.Second})
			}
			var both, all sync.WaitGroup
			both.Add(2)
			for i, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
				all.Go(func() {
					var inner error
					outer := of[i].WithLock(t.Context(), names[0], func(ctx context.Context) error {
						both.Done()
						both.Wait()
						inner = of[i].WithLock(ctx, names[1], nothing)
						return inner
					})
					assert.Equal(t, inner, outer)
					assert.ErrorIs(t, inner, rmw.ErrContended)
					assert.ErrorIs(t, inner, context.Canceled)
					assert.ErrorContains(t, inner, "held for the 2s that Config.MaxHold allows")
				})
			}
			all.Wait()
		})
	}
}

// A lock delay holds for the next caller in the same process, too.
func TestLockDelayWithinAProcess(t *testing.T) {
	cfg := lockupdate.Config{Lease: 10 * time.Second, LockDelay: 5 * time.Second, MaxHold: time.Minute}
	withFixture(t, cfg, func(t *testing.T, f *fixture) {
		began := time.Now()
		stuck := f.hold(t.Context(), f.store, "s")
		time.Sleep(7 * time.Second)
		info, err := f.store.Inspect(t.Context(), "s")
		require.NoError(t, err)
		assert.InDelta(t, 13*time.Second, info.Left, float64(time.Second), "a renewal keeps the delay")
		require.NoError(t, f.store.WithLock(t.Context(), "s", nothing))
		assert.Greater(t, time.Since(began), time.Minute+5*time.Second)
		require.ErrorIs(t, stuck.Unlock(), rmw.ErrLockLost)
		require.ErrorIs(t, context.Cause(stuck.Context()), rmw.ErrLockLost)
	})
}

// An Update of the same key within fn is refused at once, with a reason, also within WithLock.
func TestNestedUpdate(t *testing.T) {
	for name, do := range ways {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			_, err := do(t.Context(), f.store, testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				_, err := f.store.Update(ctx, testKey, appendText("inner"))
				require.ErrorIs(t, err, rmw.ErrInvalid)
				require.ErrorContains(t, err, "wait for itself")
				_, err = f.store.Update(ctx, rmw.Key{Name: "another"}, appendText("fine"))
				require.NoError(t, err)
				return rmw.String("outer"), nil
			})
			require.NoError(t, err)
			assert.Equal(t, "outer", f.text(testKey))
		})
	}
}

// A key must not be its own lock, nor look like a lock.
func TestCollidingLockNamesAreRefused(t *testing.T) {
	same := func(key string) string { return key }
	for name, lockName := range map[string]func(string) string{"s": same, "/lock/k": nil, "/fence/lock/k": nil, "/wait/lock/k": nil} {
		s := lockupdate.New(redis.NewClient(&redis.Options{}), lockupdate.Config{LockName: lockName})
		_, err := s.Update(t.Context(), rmw.Key{Name: name}, keep)
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		require.ErrorContains(t, err, "LockName", name)
		require.NoError(t, s.Close())
	}
}

// An Update that is queued behind a WithLock reports its own operation.
func TestErrorsOfQueuedCallsNameTheirOp(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.takeAsOther(key, 0)
		locked := startLocked(t.Context(), f.store, "s", nothing)
		update := start(t.Context(), f.store, key, appendText("x"))
		f.refuse("acquire", 1, "OOM command not allowed")
		wait(locked, update)
		var e *rmw.Error
		require.ErrorAs(t, locked.err, &e)
		assert.Equal(t, "lock", e.Op)
		require.ErrorAs(t, update.err, &e)
		assert.Equal(t, "acquire", e.Op)
	})
}

// Close lets a running fn finish, and returns when its lock is released.
func TestCloseFlushesReleases(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		call := start(t.Context(), f.store, key, after(20*time.Second, appendText("x")))
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Equal(t, 20*time.Second, time.Since(began))
		succeed(t, call)
		assert.False(t, f.hasLock(key.Name))
		assert.Equal(t, "wwwx", f.direct().Get(t.Context(), key.Name).Val())
	})
}

// If the client is closed first, Close reports the locks that were not released.
func TestCloseAfterTheClient(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		rdb := redis.NewClient(f.proxy.Options())
		s := lockupdate.New(rdb, lockupdate.Config{})
		unblock := f.block("release")
		require.NoError(t, operations["update"](t.Context(), s))
		require.NoError(t, rdb.Close())
		closing := startClose(s)
		unblock()
		wait(closing)
		require.ErrorContains(t, closing.err, "not released")
	})
}

// drawToken returns the token of a new critical section.
func drawToken(t *testing.T, s *lockupdate.Store, name string) uint64 {
	t.Helper()
	var token uint64
	require.NoError(t, s.WithLock(t.Context(), name, func(ctx context.Context) (err error) {
		token, err = locking.Token(ctx)
		return err
	}))
	lockupdate.Settle(s)
	return token
}

// The first Token of a lock costs one command, others are free. An update without Token costs none.
func TestTokenBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		drawToken(t, f.store, "s")
		f.settle()
		start := f.meter.Read()
		res := f.update(key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			first, err := locking.Token(ctx)
			require.NoError(t, err)
			second, err := locking.Token(ctx)
			require.NoError(t, err)
			assert.Equal(t, first, second)
			return rmw.String(strconv.FormatUint(first, 10)), nil
		})
		assert.Equal(t, res.After.Text(), strconv.FormatUint(res.Token, 10))
		f.waitReleases()
		assert.EqualValues(t, 4, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"acquire", "read", "token", "commit_string", "release"}, f.calls())
		assert.Equal(t, 7*24*time.Hour, f.direct().PTTL(t.Context(), "/fence"+lock+"s").Val(), "the counter must expire")
		res = f.update(key, appendText("x"))
		assert.Zero(t, res.Token)
	})
}

// A token that is drawn after the lease could exceed that of the next holder. Token returns an
// error instead, also on a ctx that has ended with the lease.
func TestLateTokenIsRefused(t *testing.T) {
	for name, of := range map[string]func(context.Context) context.Context{
		"ended ctx": func(ctx context.Context) context.Context { return ctx }, "another ctx": context.WithoutCancel,
	} {
		bubbleWith(t, name, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture) {
			drawToken(t, f.store, "s")
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
			f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Action: proxytest.Delay, Delay: 2 * time.Second})
			l := f.hold(t.Context(), f.store, "s")
			for range 2 { // the second after the loss
				_, err := locking.Token(of(l.Context()))
				require.ErrorIs(t, err, rmw.ErrLockLost)
				require.NotErrorIs(t, err, context.Canceled, "no caller has canceled anything")
			}
			require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
		})
	}
}

// Without a lock there is no token. A lost answer skips a number. If no token can be drawn, the outcome of the update stays known.
func TestTokenFaults(t *testing.T) {
	eachStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, _ nativeStore) {
		_, err := locking.Token(t.Context())
		require.ErrorIs(t, err, rmw.ErrInvalid)
		before := drawToken(t, f.store, "s")
		lost := proxytest.Fault{Action: proxytest.DropReply, Match: func(args []string) bool {
			return slices.Contains(args, "/fence/lock/s") && !strings.HasPrefix(args[0], "get")
		}}
		f.proxy.Inject(lost)
		assert.Greater(t, drawToken(t, f.store, "s"), before)
		lost.Times = -1
		f.proxy.Inject(lost)
		err = operations["token"](t.Context(), f.store)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
	})
}
