package lockupdate_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// slow delays each command of the Store by d.
func (f *fixture) slow(d time.Duration) {
	f.proxy.Inject(proxytest.Fault{
		Match: func(args []string) bool { return lockupdate.RequestName(args) != strings.ToUpper(args[0]) },
		Times: -1, Action: proxytest.Delay, Delay: d,
	})
}

// Calls that wait for one lock share its acquire, read, commit and release, and run in the order of
// their arrival.
func TestWaitersShareOneCommit(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"combining":    {"acquire": 1, "read": 1, "commit_string": 1, "release": 1},
		"no combining": {"acquire": 1, "read": 1, "commit_string": 64, "release": 1},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{NoCombining: name != "combining"})
			var fns []rmw.UpdateFunc
			want := want
			list := "www"
			for i := range 64 {
				fns = append(fns, appendText(fmt.Sprint(i, ",")))
			}
			for i, call := range f.runBatch(key, fns...) {
				require.NoError(t, call.err)
				assert.Equal(t, list, call.res.Before.Text())
				list += fmt.Sprint(i, ",")
				assert.Equal(t, list, call.res.After.Text())
				assert.Equal(t, 1, call.res.Attempts)
				assert.True(t, call.res.Written)
			}
			f.waitReleases()
			assert.Equal(t, want, f.sent())
			assert.Equal(t, list, f.text(key))
		})
	}
}

// commandsPerUpdate returns the commands per update, for goroutines that update one key in a closed
// loop.
func commandsPerUpdate(t *testing.T, cfg lockupdate.Config, goroutines, each int) float64 {
	f, key := warmFixture(t, cfg)
	f.slow(time.Millisecond)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(fmt.Sprint(len(cur.Text()), time.Now())), nil
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	f.waitReleases()
	return float64(f.total()) / float64(goroutines*each)
}

// Updates of a contended key need fewer commands each.
func TestCostFallsWithContention(t *testing.T) {
	cost := map[int]float64{}
	for _, goroutines := range []int{1, 16, 64, 200} {
		synctest.Test(t, func(t *testing.T) { cost[goroutines] = commandsPerUpdate(t, lockupdate.Config{}, goroutines, 10) })
	}
	assert.LessOrEqual(t, cost[16], 0.5)
	assert.LessOrEqual(t, cost[64], 0.2)
	assert.LessOrEqual(t, cost[200], cost[64])
	synctest.Test(t, func(t *testing.T) {
		assert.Greater(t, commandsPerUpdate(t, lockupdate.Config{NoCombining: true}, 64, 5), 1., "control")
	})
}

// The number of polls does not depend on the number of waiting goroutines, nor on their arrivals.
func TestOnePollerPerProcess(t *testing.T) {
	polls := func(t *testing.T, waiters int, apart time.Duration) int {
		f, key := warmFixture(t, lockupdate.Config{})
		f.takeAsOther(key, 2*time.Second)
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.NoError(t, err)
			})
			time.Sleep(apart)
		}
		wg.Wait()
		assert.Len(t, f.text(key), 3+waiters)
		return f.sent()["acquire"]
	}
	var one, many, staggered int
	synctest.Test(t, func(t *testing.T) { one = polls(t, 1, 0) })
	synctest.Test(t, func(t *testing.T) { many = polls(t, 100, 0) })
	synctest.Test(t, func(t *testing.T) { staggered = polls(t, 200, 5*time.Millisecond) })
	assert.InDelta(t, one, many, 25)
	assert.InDelta(t, one, staggered, 25, "a new waiter does not poll by itself")
}

// goroutineID returns the id of the current goroutine.
func goroutineID() string {
	var buf [64]byte
	return string(bytes.Fields(buf[:runtime.Stack(buf[:], false)])[1])
}

type callerKey struct{}

// Each fn runs on its caller's goroutine, with the values of its caller's ctx.
func TestFnRunsOnItsCallersGoroutine(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.slow(time.Millisecond)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				own := goroutineID()
				ctx := context.WithValue(t.Context(), callerKey{}, own)
				for range 5 {
					_, err := f.store.Update(ctx, rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						assert.Equal(t, own, goroutineID())
						assert.Equal(t, own, ctx.Value(callerKey{}))
						return appendText("x")(ctx, cur)
					})
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.Len(t, f.text(rmw.Key{Name: "s"}), 32*5)
	})
}

// An fn that fails, panics or exits ends only its own call. One commit stores the results of the
// other fns.
func TestFailedFnFailsOnlyItsCall(t *testing.T) {
	for name, tc := range map[string]struct {
		fn    rmw.UpdateFunc
		check func(t *testing.T, f *pendingCall)
	}{
		"error": {abort, func(t *testing.T, f *pendingCall) { assert.Equal(t, errRoomFull, f.err) }},
		"panic": {func(context.Context, rmw.Value) (rmw.Value, error) { panic("a bug") }, func(t *testing.T, f *pendingCall) {
			assert.Equal(t, "a bug", f.panicked)
			assert.False(t, f.returned)
		}},
		"Goexit": {func(context.Context, rmw.Value) (rmw.Value, error) {
			runtime.Goexit()
			return rmw.Value{}, nil
		}, func(t *testing.T, f *pendingCall) {
			assert.Nil(t, f.panicked)
			assert.False(t, f.returned)
		}},
		"wrong kind": {setField("f", "v"), func(t *testing.T, f *pendingCall) { assert.ErrorIs(t, f.err, rmw.ErrWrongKind) }},
		"bad TTL": {func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("x").WithTTL(-7), nil }, func(t *testing.T, f *pendingCall) {
			assert.ErrorIs(t, f.err, rmw.ErrInvalid)
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{})
			calls := f.runBatch(key, appendText("a"), tc.fn, appendText("b"), tc.fn, appendText("c"))
			tc.check(t, calls[1])
			tc.check(t, calls[3])
			for _, i := range []int{0, 2, 4} {
				require.NoError(t, calls[i].err)
			}
			assert.Equal(t, "wwwabc", calls[4].res.After.Text())
			f.waitReleases()
			assert.Equal(t, 1, f.sent()["commit_string"])
			assert.Equal(t, "wwwabc", f.text(key))
		})
	}
}

// No call returns before the commit of the value that its fn saw, even if fn failed or changed
// nothing.
func TestNoCallReturnsBeforeTheCommit(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		unblock := f.block("commit_string")
		proceed, same := f.enqueue(key, appendText("a"), abort, keep, appendText("b"))
		go proceed()
		synctest.Wait()
		next := []*pendingCall{
			start(t.Context(), f.store, key, abort),
			start(t.Context(), f.store, key, keep),
			start(t.Context(), f.store, key, appendText("c")),
		}
		time.Sleep(time.Second)
		for i, call := range append(same, next...) {
			assert.False(t, call.ended(), i)
		}
		unblock()
		for _, call := range append(same, next...) {
			<-call.done
		}
		assert.Equal(t, errRoomFull, same[1].err)
		assert.Equal(t, "wwwa", same[2].res.After.Text())
		assert.Equal(t, errRoomFull, next[0].err)
		assert.Equal(t, "wwwab", next[1].res.Before.Text())
		assert.False(t, next[1].res.Written)
		assert.Equal(t, "wwwabc", f.text(key))
		assert.Equal(t, 2, f.sent()["commit_string"], "the next batch formed meanwhile")
	})
}

// A slow fn does not delay the commit of earlier calls, and is committed after them.
func TestSlowFnDoesNotDelayEarlierCalls(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		proceed, calls := f.enqueue(key, appendText("a"), appendText("b"), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(time.Second)
			return appendText("slow")(ctx, cur)
		}, appendText("c"))
		f.slow(time.Millisecond)
		began := time.Now()
		proceed()
		for _, call := range calls {
			<-call.done
			require.NoError(t, call.err)
		}
		for _, before := range calls[:2] {
			assert.LessOrEqual(t, before.at.Sub(began), 2*time.Millisecond, "a millisecond, and the commit")
		}
		assert.LessOrEqual(t, calls[3].at.Sub(began), time.Second+3*time.Millisecond, "the commit, and a renewal in the same flush, whose script is not cached yet")
		assert.Equal(t, "wwwabslowc", f.text(key))
	})
}

// A batch has at most 256 calls, which bounds the cost of a refused commit.
func TestBatchesAreBounded(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		fns := make([]rmw.UpdateFunc, 600)
		for i := range fns {
			fns[i] = appendText("x")
		}
		for _, call := range f.runBatch(key, fns...) {
			require.NoError(t, call.err)
		}
		f.waitReleases()
		assert.Equal(t, 3, f.sent()["commit_string"], "601 calls in batches of 256")
		assert.Equal(t, strings.Repeat("x", 600), strings.TrimPrefix(f.text(key), "www"))
	})
}
