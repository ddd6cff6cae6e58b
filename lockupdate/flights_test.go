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

// Updates of different keys at the same time share round trips.
func TestKeysShareFlushes(t *testing.T) {
	perUpdate := func(t *testing.T, goroutines int) float64 {
		const each = 5
		f := newFixture(t, lockupdate.Config{})
		for i := range goroutines {
			f.warm(rmw.Key{Name: fmt.Sprint(i)})
		}
		// A flush takes a millisecond, however many commands are in it.
		f.rdb.AddHook(distance(time.Millisecond))
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

// distance is a hook that makes each flush take a while.
type distance time.Duration

func (d distance) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d distance) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(d))
		return next(ctx, cmd)
	}
}

func (d distance) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		time.Sleep(time.Duration(d))
		return next(ctx, cmds)
	}
}

// aloft has four commits on their way until letGo, so that others gather.
func (f *fixture) aloft() (letGo func()) {
	drop := f.holdUp("commit_string")
	var fates []*fate
	for i := range 4 {
		fates = append(fates, start(f.t.Context(), f.store, rmw.Key{Name: fmt.Sprint("aloft", i)}, appendText("x")))
	}
	return func() {
		drop()
		for _, fate := range fates {
			<-fate.done
			assert.NoError(f.t, fate.err)
		}
	}
}

// A caller of Read that leaves takes nobody else's commands with it.
func TestOneLeavesAFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		f.warm(keys...)
		var fates []*fate
		gate := make(chan struct{})
		for _, key := range keys {
			fates = append(fates, start(t.Context(), f.store, key, until(gate, appendText("x"))))
		}
		letGo := f.aloft()
		ctx, cancel := context.WithCancel(t.Context())
		read := make(chan error, 1)
		go func() {
			_, err := f.store.Read(ctx, keys[0])
			read <- err
		}()
		synctest.Wait()
		close(gate) // their commits board, behind the read
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-read, context.Canceled)
		synctest.Wait()
		letGo()
		for i, fate := range fates {
			<-fate.done
			require.NoError(t, fate.err)
			assert.Equal(t, "wwwx", f.text(keys[i]))
		}
	})
}

// bug is a client's hook that panics on its first pipeline.
type bug struct {
	distance
	struck atomic.Int32
}

func (h *bug) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error {
		h.struck.Add(1)
		panic("a bug in a hook")
	}
}

// A hook that panics ends nobody's goroutine: everybody aboard is told.
func TestPanicAboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		f.warm(keys...)
		var fates []*fate
		gate := make(chan struct{})
		for _, key := range keys {
			fates = append(fates, start(t.Context(), f.store, key, until(gate, appendText("x"))))
		}
		letGo := f.aloft()
		hook := &bug{}
		f.rdb.AddHook(hook)
		close(gate)
		synctest.Wait()
		letGo()
		for _, fate := range fates {
			<-fate.done
			assert.Nil(t, fate.panicked)
			require.ErrorIs(t, fate.err, rmw.ErrOutcomeUnknown)
			require.ErrorContains(t, fate.err, "panicked: a bug in a hook")
		}
		assert.Positive(t, hook.struck.Load())
	})
}
