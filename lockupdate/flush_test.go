package lockupdate_test

import (
	"context"
	"fmt"
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
	return func() {
		resume()
		for _, call := range calls {
			<-call.done
			assert.NoError(f.t, call.err)
		}
	}
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
		for _, call := range calls {
			<-call.done
			assert.Nil(t, call.panicked)
			require.ErrorIs(t, call.err, rmw.ErrOutcomeUnknown)
			require.ErrorContains(t, call.err, "panicked: a bug in a hook")
		}
		assert.Positive(t, panicked.Load())
	})
}
