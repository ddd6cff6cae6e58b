package lockupdate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
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
		bubbleWithKey(t, name, tc.cfg, func(t *testing.T, f *fixture, key rmw.Key) {
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

// Each fn runs on its caller's goroutine, with the values of its caller's ctx.
func TestFnRunsOnItsCallersGoroutine(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.slow(time.Millisecond)
		concurrently(32, func(int) {
			own := goroutineID()
			for range 5 {
				_, err := f.store.Update(called(t, own), testKey, within(func(ctx context.Context) {
					assert.Equal(t, own, goroutineID())
					assert.Equal(t, own, ctx.Value(callKey{}))
				}, appendText("x")))
				assert.NoError(t, err)
			}
		})
		assert.Len(t, f.text(testKey), 32*5)
	})
}

// An fn that fails, panics or exits ends only its own call. One commit stores the results of the
// other fns.
func TestFailedFnFailsOnlyItsCall(t *testing.T) {
	for name, tc := range map[string]struct {
		fn       rmw.UpdateFunc
		err      error // of Update; nil: it does not return
		panicked any
	}{
		"error":      {abort, errRoomFull, nil},
		"panic":      {within(func(context.Context) { panic("a bug") }, keep), nil, "a bug"},
		"Goexit":     {within(func(context.Context) { runtime.Goexit() }, keep), nil, nil},
		"wrong kind": {setField("f", "v"), rmw.ErrWrongKind, nil},
		"bad TTL":    {returning(rmw.String("x").WithTTL(-7)), rmw.ErrInvalid, nil},
	} {
		bubbleWithKey(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
			calls := f.runBatch(key, appendText("a"), tc.fn, appendText("b"), tc.fn, appendText("c"))
			for _, i := range []int{1, 3} {
				assert.ErrorIs(t, calls[i].err, tc.err)
				assert.Equal(t, tc.err != nil, calls[i].returned)
				assert.Equal(t, tc.panicked, calls[i].panicked)
			}
			succeed(t, calls[0], calls[2], calls[4])
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
		proceed, calls := f.enqueue(key, appendText("a"), abort, keep, appendText("b"))
		go proceed()
		synctest.Wait()
		for _, fn := range []rmw.UpdateFunc{abort, keep, appendText("c")} { // they form the next batch
			calls = append(calls, start(t.Context(), f.store, key, fn))
		}
		time.Sleep(time.Second)
		for i, call := range calls {
			assert.False(t, call.ended(), i)
		}
		unblock()
		wait(calls...)
		assert.Equal(t, errRoomFull, calls[1].err)
		assert.Equal(t, "wwwa", calls[2].res.After.Text())
		assert.Equal(t, errRoomFull, calls[4].err)
		assert.Equal(t, "wwwab", calls[5].res.Before.Text())
		assert.False(t, calls[5].res.Written)
		assert.Equal(t, "wwwabc", f.text(key))
		assert.Equal(t, 2, f.sent()["commit_string"])
	})
}

// A slow fn does not delay the commit of earlier calls, and is committed after them.
func TestSlowFnDoesNotDelayEarlierCalls(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		proceed, calls := f.enqueue(key, appendText("a"), appendText("b"), after(time.Second, appendText("slow")), appendText("c"))
		f.slow(time.Millisecond)
		began := time.Now()
		proceed()
		succeed(t, calls...)
		for _, before := range calls[:2] {
			assert.LessOrEqual(t, before.at.Sub(began), 2*time.Millisecond, "a millisecond, and the commit")
		}
		assert.LessOrEqual(t, calls[3].at.Sub(began), time.Second+3*time.Millisecond,
			"the commit, and a renewal in the same flush, whose script is not cached yet")
		assert.Equal(t, "wwwabslowc", f.text(key))
	})
}

// randomFn returns an fn that writes, deletes or keeps the value, with a random expiry.
func randomFn(rng *rand.Rand, kind rmw.Kind) (name string, fn rmw.UpdateFunc) {
	ttl := []time.Duration{0, 0, 0, rmw.NoTTL, time.Minute, time.Hour}[rng.IntN(6)]
	what := []string{"set", "set", "same", "delete", "delete", "keep"}[rng.IntN(6)]
	x := fmt.Sprint(rng.IntN(3))
	return fmt.Sprint(what, x, ttl), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		switch {
		case what == "delete":
			return rmw.Value{}, nil
		case what == "keep":
			return cur, nil
		case what == "same":
			return cur.WithTTL(ttl), nil
		case kind == rmw.KindHash:
			return cur.Without("0").With("f"+x, x).With(x, "").WithTTL(ttl), nil
		}
		return rmw.String(x).WithTTL(ttl), nil
	}
}

// finalValue runs the fns as one batch, on no value or on one with ten minutes to live. It returns
// the stored value, its expiry, and the number of commits.
func finalValue(
	t *testing.T, cfg lockupdate.Config, kind rmw.Kind, before bool, fns []rmw.UpdateFunc,
) (v rmw.Value, left time.Duration, commits int) {
	withFixture(t, cfg, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "s", Kind: kind, TTL: 10 * time.Minute}
		if before {
			f.update(key, returning(map[rmw.Kind]rmw.Value{
				rmw.KindString: rmw.String("0"), rmw.KindHash: rmw.Hash(map[string]string{"0": "", "f0": "0"}),
			}[kind]))
		}
		key.TTL = 0
		f.settle()
		succeed(t, f.runBatch(key, fns...)...)
		commits = f.sent()["commit_string"] + f.sent()["commit_hash"]
		v, left = f.peek(key)
	})
	return v, left, commits
}

// A batch leaves the same value, fields and expiry as separate updates.
func TestBatchEqualsSequentialUpdates(t *testing.T) {
	long.Repeats(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		kind := rmw.Kind(i % 2)
		var names []string
		var fns []rmw.UpdateFunc
		for range 2 + rng.IntN(4) {
			name, fn := randomFn(rng, kind)
			names, fns = append(names, name), append(fns, fn)
		}
		before := rng.IntN(3) > 0
		v1, ttl1, _ := finalValue(t, lockupdate.Config{}, kind, before, fns)
		v2, ttl2, _ := finalValue(t, lockupdate.Config{NoCombining: true}, kind, before, fns)
		label := fmt.Sprint(kind, " ", before, " ", strings.Join(names, ", "))
		assert.True(t, v1.Equal(v2), label)
		assert.Equal(t, ttl2, ttl1, label)
	}
	back := []rmw.UpdateFunc{returning(rmw.String("1")), returning(rmw.String("0"))}
	_, _, commits := finalValue(t, lockupdate.Config{}, rmw.KindString, true, back)
	assert.Zero(t, commits, "a value that was changed back is not written")
}

// Calls of other kinds that share a key get rmw.ErrWrongKind only for their own mismatch.
func TestKindsShareAKey(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.update(hashKey, setField("f", ""))
		proceed, hash := f.enqueue(hashKey, setField("g", ""))
		text := start(t.Context(), f.store, rmw.Key{Name: "h"}, appendText("x"))
		proceed()
		succeed(t, hash...)
		wait(text)
		require.ErrorIs(t, text.err, rmw.ErrWrongKind)
	})
}

// A caller leaves while the holder reads its key for it. Queued calls of the previous key must not
// be lost, nor written to that key.
func TestCallerLeavesWhileItsKeyIsRead(t *testing.T) {
	withFixture(t, lockupdate.Config{LockName: func(string) string { return "/one/lock" }}, func(t *testing.T, f *fixture) {
		a, b := rmw.Key{Name: "a"}, rmw.Key{Name: "b"}
		f.warm(a)
		gate := make(chan struct{})
		first := start(t.Context(), f.store, a, until(gate, appendText("1,")))
		unblock := f.block("read")
		ctx, cancel := context.WithCancel(t.Context())
		leaver := start(ctx, f.store, b, appendText("x,"))
		close(gate)
		<-first.done
		synctest.Wait() // the read of b is in flight
		cancel()
		<-leaver.done
		last := start(t.Context(), f.store, a, appendText("2,"))
		unblock()
		succeed(t, last)
		assert.Equal(t, "www1,2,", f.text(a))
		assert.Equal(t, "", f.text(b))
	})
}

// A caller may leave at any time. Its error is rmw.ErrOutcomeUnknown only if its write may be
// committed, and no other call waits for it.
func TestCallersLeave(t *testing.T) {
	type starter = func(fn rmw.UpdateFunc) *pendingCall
	for name, tc := range map[string]struct {
		unknown bool
		final   string
		// leave starts a call by run, and ends its ctx by cancel.
		leave func(f *fixture, run starter, cancel func())
	}{
		"queued": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			proceed, _ := f.enqueue(testKey, appendText("a"))
			call := run(appendText("x"))
			cancel()
			wait(call)
			proceed()
		}},
		"in fn": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			run(within(func(ctx context.Context) {
				cancel()
				<-ctx.Done()
				assert.Equal(f.t, context.Canceled, context.Cause(ctx))
			}, appendText("x")))
			f.runBatch(testKey, appendText("a"))
		}},
		"waiting for later calls": {unknown: true, final: "wwwxab", leave: func(f *fixture, run starter, cancel func()) {
			gate := make(chan struct{})
			start(f.t.Context(), f.store, testKey, until(gate, keep))
			call := run(appendText("x"))
			start(f.t.Context(), f.store, testKey, within(func(context.Context) {
				time.Sleep(500 * time.Microsecond)
				cancel()
				time.Sleep(time.Minute / 6)
			}, appendText("a")))
			close(gate)
			wait(call)
		}},
		"commit in flight": {unknown: true, final: "wwwxab", leave: func(f *fixture, run starter, cancel func()) {
			unblock := f.block("commit_string")
			call := run(appendText("x"))
			next := start(f.t.Context(), f.store, testKey, appendText("a"))
			cancel()
			wait(call)
			assert.False(f.t, next.ended())
			unblock()
			wait(next)
		}},
		"failed, commit in flight": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			unblock := f.block("commit_string")
			start(f.t.Context(), f.store, testKey, appendText("a"))
			call := run(keep)
			cancel()
			wait(call)
			unblock()
		}},
	} {
		bubbleWithKey(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var call *pendingCall
			tc.leave(f, func(fn rmw.UpdateFunc) *pendingCall { call = start(ctx, f.store, key, fn); return call }, cancel)
			wait(call)
			require.ErrorIs(t, call.err, context.Canceled)
			assert.Equal(t, tc.unknown, errors.Is(call.err, rmw.ErrOutcomeUnknown))
			began := time.Now()
			f.update(key, appendText("b"))
			assert.Less(t, time.Since(began), 11*time.Second)
			assert.Equal(t, tc.final, f.text(key))
		})
	}
}

// A foreign write refuses the commit of a batch, and so the next batch that was built on it: all fns run again
// on the foreign value. A commit without a reply leaves the outcome of its writers unknown. Other calls of the
// batch, and the next batch, run again on the stored value.
func TestFailedCommitOfABatch(t *testing.T) {
	for name, tc := range map[string]struct {
		commit proxytest.Fault
		reason error  // of the writers of the first batch; nil: a foreign write
		base   string // on which all other calls run again
	}{
		"refused":      {proxytest.Fault{Action: proxytest.Delay}, nil, "theirs"},
		"request lost": {proxytest.Fault{Action: proxytest.DropRequest}, rmw.ErrOutcomeUnknown, "www"},
		"reply lost":   {proxytest.Fault{Action: proxytest.DropReply}, rmw.ErrOutcomeUnknown, "wwwa,b,"},
		"hangs":        {proxytest.Fault{Action: proxytest.HangReply}, rmw.ErrOutcomeUnknown, "wwwa,b,"},
		"late":         {executedLate("commit_string", 5*time.Second), rmw.ErrOutcomeUnknown, "www"},
		"not executed": {proxytest.Fault{Action: proxytest.RefuseWith, Text: "OOM command not allowed"}, rmw.ErrUnavailable, "www"},
	} {
		bubbleWithKey(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
			gate := make(chan struct{})
			tc.commit.Match, tc.commit.Do = isScript("commit_string"), func() { <-gate }
			f.proxy.Inject(tc.commit)
			proceed, calls := f.enqueue(key, appendText("a,"), abort, keep, appendText("b,"))
			go proceed()
			synctest.Wait()
			for _, fn := range []rmw.UpdateFunc{appendText("c,"), keep, abort, appendText("d,")} {
				calls = append(calls, start(t.Context(), f.store, key, fn))
			}
			if tc.reason == nil {
				f.writeBeside()
			}
			close(gate)
			wait(calls...)
			var text strings.Builder
			text.WriteString(tc.base)
			for i, added := range []string{"a,", "", "", "b,", "c,", "", "", "d,"} {
				res, err := calls[i].res, calls[i].err
				switch {
				case tc.reason != nil && (i == 0 || i == 3):
					require.ErrorIs(t, err, tc.reason)
					continue
				case i == 1 || i == 6:
					assert.Equal(t, errRoomFull, err)
				default:
					require.NoError(t, err)
					text.WriteString(added)
					assert.Equal(t, text.String(), res.After.Text(), i)
				}
				assert.Equal(t, 2, res.Attempts, i)
			}
			f.waitReleases()
			if tc.reason == nil {
				assert.Equal(t, 1, f.sent()["read"], "the reply to a refused commit contains the value")
				assert.Equal(t, 2, f.sent()["commit_string"])
			}
			time.Sleep(20 * time.Second)
			assert.Equal(t, text.String(), f.text(key), "the late commit finds another value")
		})
	}
}
