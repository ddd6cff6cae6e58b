package lockupdate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Concurrent updates of different keys share round trips.
func TestKeysShareFlushes(t *testing.T) {
	perUpdate := func(t *testing.T, goroutines int) float64 {
		const each = 5
		f := newFixture(t, lockupdate.Config{})
		for i := range goroutines {
			f.warm(rmw.Key{Name: fmt.Sprint(i)})
		}
		f.rdb.AddHook(hook(func(_ context.Context, _ []redis.Cmder, next func() error) error {
			time.Sleep(time.Millisecond)
			return next()
		}))
		before := f.meter.Read()
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				for range each {
					_, err := f.store.Update(t.Context(), rmw.Key{Name: fmt.Sprint(i)}, appendText("x"))
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		f.waitReleases()
		return float64(f.meter.Read().Sub(before).RoundTrips) / float64(goroutines*each)
	}
	var one, many float64
	synctest.Test(t, func(t *testing.T) { one = perUpdate(t, 1) })
	synctest.Test(t, func(t *testing.T) { many = perUpdate(t, 50) })
	assert.InDelta(t, 3, one, 0.01)
	assert.Less(t, many, 0.6)
}

// fillInFlight keeps four commits in flight until unblock, so that other commands form a batch.
func (f *fixture) fillInFlight() (unblock func()) {
	resume := f.block("commit_string")
	var calls []*pendingCall
	for i := range 4 {
		calls = append(calls, start(f.t.Context(), f.store, rmw.Key{Name: fmt.Sprint("inflight", i)}, appendText("x")))
	}
	return func() { resume(); succeed(f.t, calls...) }
}

// The panic of a hook fails every command of the flush, and ends no goroutine.
func TestPanicInASharedFlush(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		f.warm(keys...)
		var calls []*pendingCall
		gate := make(chan struct{})
		for _, key := range keys {
			calls = append(calls, start(t.Context(), f.store, key, until(gate, appendText("x"))))
		}
		unblock := f.fillInFlight()
		var panicked atomic.Int32
		f.rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			if len(cmds) == 1 {
				return next()
			}
			panicked.Add(1)
			panic("a bug in a hook")
		}))
		close(gate)
		synctest.Wait()
		unblock()
		wait(calls...)
		for _, call := range calls {
			assert.Nil(t, call.panicked)
			require.ErrorIs(t, call.err, rmw.ErrOutcomeUnknown)
			require.ErrorContains(t, call.err, "panicked: a bug in a hook")
		}
		assert.Positive(t, panicked.Load())
	})
}

// A command has the ctx values of its own caller or none, whether callers share flushes (own keys)
// or commits (one key). A renewal has those of no caller, also if it shares the flush of a commit.
func TestCommandsCarryNoForeignCtxValues(t *testing.T) {
	for i := range 4 {
		own, onDemand := i%2 == 0, i >= 2
		want := map[bool]int64{false: 3, true: 2}[onDemand] // acquire, read and commit; no acquire on demand
		bubble(t, fmt.Sprintf("own keys=%t, on demand=%t", own, onDemand), func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{LockOnDemand: onDemand})
			f.slow(time.Millisecond)
			var alone, shared, renewed atomic.Int64
			check := func(caller any, cmd redis.Cmder) {
				args := argsOf(cmd)
				script := lockupdate.ScriptName(args)
				switch {
				case len(args) < 4: // handshake
					return
				case caller == nil:
					shared.Add(1)
					if script == "renew" {
						renewed.Add(1)
					}
					return
				}
				alone.Add(1)
				switch {
				case script == "release" || script == "renew":
					assert.Fail(t, "a command of the holder has the ctx of a caller", script)
				case own:
					assert.Equal(t, caller, strings.TrimPrefix(args[3], lock), script)
				case script == "commit_string":
					added := strings.TrimPrefix(args[len(args)-1], args[len(args)-2])
					assert.Equal(t, fmt.Sprint(caller, ","), added)
				}
			}
			f.rdb.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, next func() error) error {
				for _, cmd := range cmds {
					check(ctx.Value(callerKey{}), cmd)
				}
				return next()
			}))
			update := func(id string, during func(key string)) {
				key := rmw.Key{Name: "s"}
				if own {
					key.Name = id
				}
				_, err := f.store.Update(context.WithValue(t.Context(), callerKey{}, id), key,
					duringFirstCall(func() { during(key.Name) }, appendText(id+",")))
				assert.NoError(t, err)
			}
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					for range 3 { // a longer value would be sent as its digest
						update(fmt.Sprint("c", i), func(string) {})
					}
				})
			}
			all.Wait()
			f.waitReleases()
			assert.Positive(t, shared.Load())
			time.Sleep(2 * time.Second) // a contended key takes the lock for a second, also on demand
			alone.Store(0)
			update("alone", func(string) {})
			f.waitReleases()
			assert.Equal(t, want, alone.Load(), "a single caller's commands have its values")
			if onDemand {
				return // no holder, and so no renewal
			}

			renewed.Store(0)
			update("alone", func(key string) { // the second commit of the holder asks for waiters
				time.Sleep(time.Second)
				require.NoError(t, f.direct().Set(t.Context(), key, "theirs", 0).Err())
			})
			assert.Positive(t, renewed.Load(), "a renewal in the flush of a commit")
		})
	}
}
