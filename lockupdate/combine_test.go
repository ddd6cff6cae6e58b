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
// their arrival. A batch has at most 256 calls, which bounds the cost of a refused commit.
func TestWaitersShareOneCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg            lockupdate.Config
		calls, commits int
	}{
		"combining":    {calls: 64, commits: 1},
		"bounded":      {calls: 600, commits: 3},
		"no combining": {cfg: lockupdate.Config{NoCombining: true}, calls: 64, commits: 64},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, tc.cfg)
			var fns []rmw.UpdateFunc
			list := "www"
			for i := range tc.calls {
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
			assert.Equal(t, map[string]int{"acquire": 1, "read": 1, "commit_string": tc.commits, "release": 1}, f.sent())
			assert.Equal(t, list, f.text(key))
		})
	}
}

// Updates of a contended key need fewer commands each.
func TestCostFallsWithContention(t *testing.T) {
	cost := func(cfg lockupdate.Config, goroutines int) (commands float64) {
		synctest.Test(t, func(t *testing.T) {
			loop := closedLoop{cfg: cfg, goroutines: []int{goroutines}, latency: time.Millisecond, duration: 30 * time.Millisecond}
			_, commands = loop.run(t)
		})
		return commands
	}
	few, many := cost(lockupdate.Config{}, 16), cost(lockupdate.Config{}, 64)
	assert.LessOrEqual(t, few, 0.5)
	assert.LessOrEqual(t, many, 0.2)
	assert.LessOrEqual(t, cost(lockupdate.Config{}, 200), many)
	assert.Greater(t, cost(lockupdate.Config{NoCombining: true}, 64), 1., "control")
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
