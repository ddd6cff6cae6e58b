package lockupdate_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

const lock = "/lock/"

// A lease that cannot be renewed counts as lost at nine tenths, before it ends on the server. MaxHold ends
// the ctx of an fn that hangs. The error of fn is kept.
func TestLostLeaseEndsCtx(t *testing.T) {
	for name, tc := range map[string]struct {
		renew proxytest.Fault
		after time.Duration
		cause string
	}{
		"renewals hang":     {proxytest.Fault{Action: proxytest.HangRequest}, 9 * time.Second, ""},
		"renewals are cut":  {proxytest.Fault{Action: proxytest.DropRequest}, 9 * time.Second, ""},
		"error replies":     {proxytest.Fault{Action: proxytest.RefuseWith, Text: connReset}, 9 * time.Second, ""},
		"held for too long": {proxytest.Fault{Action: proxytest.None}, 42 * time.Second, "MaxHold"},
	} {
		cfg := lockupdate.Config{Lease: 10 * time.Second, MaxHold: 42 * time.Second}
		bubbleWithKey(t, name, cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			tc.renew.Match, tc.renew.Times = isScript("renew"), -1
			f.proxy.Inject(tc.renew)
			_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				began := time.Now()
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
				assert.ErrorContains(t, context.Cause(ctx), tc.cause)
				assert.LessOrEqual(t, time.Since(began), tc.after)
				assert.GreaterOrEqual(t, time.Since(began), tc.after-10*time.Millisecond, "a tick of the timing wheel")
				return cur, fmt.Errorf("%w: %w", errRoomFull, ctx.Err())
			})
			require.ErrorIs(t, err, rmw.ErrLockLost)
			require.ErrorIs(t, err, errRoomFull)
			assert.NotErrorIs(t, err, context.Canceled, "the caller's ctx has not ended")
			assert.True(t, rmw.Retryable(err))
			var e *rmw.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "lockupdate", e.Path)
			assert.Equal(t, "www", f.text(key), "nothing was written")
		})
	}
}

// An fn that returns after MaxHold is committed under the guard, if no other writer changed the
// value.
func TestFnThatIgnoresMaxHold(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxHold: 600 * time.Millisecond}, func(t *testing.T, f *fixture) {
		res := f.update(testKey, within(func(ctx context.Context) {
			time.Sleep(1500 * time.Millisecond)
			require.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
		}, appendText("x")))
		assert.Equal(t, 1, res.Attempts)
		assert.Equal(t, "x", f.text(testKey))
	})
}

// Renewals that are due together share flushes. A flush that hangs loses no lease.
func TestRenewalsShareFlushes(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		names := make([]string, 600)
		for i := range names {
			names[i] = fmt.Sprint("held", i)
		}
		locks := f.lockAll(names...)
		const cycle = 5*time.Second + 100*time.Millisecond
		time.Sleep(cycle) // the first time fills the script caches
		synctest.Wait()
		f.proxy.ResetCalls()
		assert.EqualValues(t, 3, f.trips(func() {
			time.Sleep(cycle)
			synctest.Wait()
		}), "600 in flushes of at most 256")
		assert.Equal(t, len(names), f.sent()["renew"])
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.HangRequest})
		time.Sleep(30 * time.Second)
		for _, l := range locks {
			require.NoError(t, l.Context().Err())
		}
	})
}

// All leases of a Store share one goroutine, and a held lock has none. The goroutine of the leases ends with the last lease, and
// starts again with the next.
func TestLeaseLoopEnds(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		for _, l := range f.lockAll("a", "b", "c", "d") {
			synctest.Wait()
			assert.Equal(t, 1, strings.Count(stacks(), "lease.(*Keeper).loop("))
			assert.NotContains(t, stacks(), "holder.(*holder)")
			require.NoError(t, l.Unlock())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.NotContains(t, stacks(), "lease.(*Keeper).loop(")
		f.update(testKey, after(time.Minute/2, appendText("x")))
		assert.Equal(t, "x", f.text(testKey))
	})
}

// If the lease is lost while one fn of a batch runs, its ctx ends, and the results of earlier fns
// are committed. Later calls do not wait for this fn. Its result is stored only if no other process
// wrote since.
func TestLeaseLostInABatch(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg       lockupdate.Config
		loseLease func(f *fixture)
	}{
		"lock deleted": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			require.NoError(f.t, f.direct().Del(f.t.Context(), lock+"s").Err())
		}},
		"renewals hang": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: 5, Action: proxytest.HangRequest})
		}},
		"held too long": {lockupdate.Config{Lease: time.Second, MaxHold: 3 * time.Second}, func(*fixture) {}},
	} {
		bubbleWithKey(t, name, tc.cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			other := f.another(lockupdate.Config{})
			attempts := 0
			late := within(func(ctx context.Context) {
				if attempts++; attempts == 1 {
					tc.loseLease(f)
					<-ctx.Done()
					assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
					time.Sleep(30 * time.Second)
				}
			}, appendText("late,"))
			proceed, calls := f.enqueue(key, appendText("a,"), late, appendText("b,"))
			theirs := start(t.Context(), other, key, appendText("theirs,"))
			began := time.Now()
			proceed()
			for _, call := range []*pendingCall{calls[0], calls[2], theirs} {
				succeed(t, call)
				assert.Less(t, call.at.Sub(began), 4*time.Second, "later calls run without it")
			}
			<-calls[1].done
			if name == "held too long" {
				require.ErrorIs(t, calls[1].err, rmw.ErrLockLost, "MaxHold is over")
				assert.NotContains(t, f.text(key), "late")
			} else {
				require.NoError(t, calls[1].err)
				assert.Equal(t, 2, calls[1].res.Attempts)
				assert.Contains(t, calls[1].res.Before.Text(), "theirs,")
			}
			for _, part := range []string{"a,", "b,", "theirs,"} {
				assert.Contains(t, f.text(key), part)
			}
		})
	}
}

// If no connection can be made in time, the commit was not sent. The error is rmw.ErrUnavailable
// and retryable, although no ctx has ended.
func TestCommitCannotDial(t *testing.T) {
	for name, stall := range map[string]time.Duration{"in time": time.Second, "lease lost": time.Minute} {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			var down atomic.Bool
			opts := f.proxy.Options()
			dial := opts.Dialer
			opts.ConnMaxIdleTime, opts.MaxRetries, opts.DialerRetries = 10*time.Millisecond, -1, 1
			opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if down.Load() {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded} // as of package net
				}
				return dial(ctx, network, addr)
			}
			s := f.open(opts, lockupdate.Config{Lease: 10 * time.Second, NoBreaker: true})
			_, err := s.Update(t.Context(), testKey, duringFirstCall(func() { down.Store(true); time.Sleep(stall) }, appendText("x")))
			down.Store(false)
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.True(t, rmw.Retryable(err))
		})
	}
}

// granting answers commands without a server. It refuses each lock some times, then grants it.
type granting struct {
	refusals int
	mu       sync.Mutex
	asked    map[any]int
}

func (h *granting) flush(_ context.Context, cmds []redis.Cmder, _ func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cmd := range cmds {
		var answer any = int64(1)
		if name := cmd.Args()[3]; h.asked[name] < h.refusals {
			h.asked[name]++
			answer = []any{int64(0), int64(1)}
		} else {
			delete(h.asked, name)
		}
		cmd.(interface{ SetVal(val any) }).SetVal(answer)
	}
	return nil
}

// liveBytes returns the size of the live objects on the heap.
func liveBytes() int64 {
	synctest.Wait()
	runtime.GC()
	runtime.GC() // empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory of a held lock is bounded, since services hold 100,000. It includes the lock name and
// the map entry, not the key, and does not grow by a wait.
func TestMemoryOfAHeldLock(t *testing.T) {
	long.Repeats(t)
	const (
		few, many = 1000, 5000
		limit     = 450
	)
	for name, refusals := range map[string]int{"free": 0, "after a wait": 2} {
		bubble(t, name, func(t *testing.T) {
			rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), "nowhere:1"))
			rdb.AddHook(hook((&granting{refusals: refusals, asked: map[any]int{}}).flush))
			store := lockupdate.New(rdb, lockupdate.Config{Lease: time.Hour, MaxHold: 2 * time.Hour})
			names := make([]string, many)
			for i := range names {
				names[i] = fmt.Sprintf("room:%07d", i)
			}
			locks := make([]locking.Hold, 0, many)
			hold := func(n int) {
				for _, name := range names[len(locks):n] {
					l, err := store.Lock(t.Context(), name)
					require.NoError(t, err)
					locks = append(locks, l)
				}
			}
			hold(few)
			before := liveBytes()
			hold(many)
			each := (liveBytes() - before) / (many - few)
			t.Logf("%d bytes a lock", each)
			assert.LessOrEqual(t, each, int64(limit))
			for _, l := range locks {
				require.NoError(t, l.Unlock())
			}
			require.NoError(t, store.Close())
			require.NoError(t, rdb.Close())
		})
	}
}
