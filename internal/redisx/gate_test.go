package redisx_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// closing starts Close and returns a channel that is closed when it has returned.
func closing(g *redisx.Gate) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		g.Close()
	}()
	return closed
}

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := redisx.NewGate()
		require.NoError(t, g.Enter())
		require.NoError(t, g.Enter())
		assert.False(t, isClosed(g.Closing))
		closed, again := closing(g), closing(g)
		assert.True(t, isClosed(g.Closing))
		assert.False(t, isClosed(closed))
		require.ErrorIs(t, g.Enter(), rmw.ErrClosed, "no newcomers while it waits")
		g.Leave()
		assert.False(t, isClosed(closed))
		g.Leave()
		assert.True(t, isClosed(closed))
		assert.True(t, isClosed(again), "a second Close waits as well")
		require.ErrorIs(t, g.Enter(), rmw.ErrClosed)
	})
}

// Background work of a call may start more work, even while Close waits.
func TestCloseWaitsForBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := redisx.NewGate()
		require.NoError(t, g.Enter())
		release := make(chan struct{})
		more := make(chan struct{})
		g.Go(func() {
			<-release
			g.Go(func() { <-more })
		})
		g.Leave()
		closed := closing(g)
		assert.False(t, isClosed(closed))
		close(release)
		assert.False(t, isClosed(closed))
		close(more)
		assert.True(t, isClosed(closed))
	})
}

func TestAwaitEndsWithCtxAndCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := redisx.NewGate()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		written := 0
		began := time.Now()
		err := g.Await(ctx, func() { time.Sleep(5 * time.Second); written = 1 })
		assert.Equal(t, time.Second, time.Since(began), "at once when its ctx ends")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "no longer waiting: context deadline exceeded")

		var a *redisx.Abandoned
		require.ErrorAs(t, err, &a)
		assert.False(t, isClosed(a.Finished))
		g.Close()
		assert.Equal(t, 5*time.Second, time.Since(began), "Close waits for the work")
		assert.True(t, isClosed(a.Finished))
		assert.Equal(t, 1, written)
	})
}

func TestAwaitPrefersReplyToCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := redisx.NewGate()
		ctx, cancel := context.WithCancel(t.Context())
		for range 100 { // select chooses at random
			if err := g.Await(ctx, func() {}); err != nil {
				t.Fatal(err)
			}
		}
		err := g.Await(ctx, cancel) // either may come first
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		g.Close()
	})
}

// The work runs on another goroutine, but its panic reaches the caller, so that the caller's deferred
// functions run.
func TestAwaitForwardsPanic(t *testing.T) {
	g := redisx.NewGate()
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		assert.PanicsWithValue(t, "boom", func() { _ = g.Await(ctx, func() { panic("boom") }) })
	}
	g.Close()
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		took := func() time.Duration { return time.Since(began) }

		require.NoError(t, redisx.Sleep(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, took())

		began = time.Now()
		require.NoError(t, redisx.Sleep(t.Context(), 0))
		require.NoError(t, redisx.Sleep(t.Context(), -time.Hour))
		assert.Zero(t, took())

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, redisx.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		assert.Equal(t, time.Minute, took(), "no longer than ctx")

		ctx, stop := context.WithCancelCause(t.Context())
		stop(errors.New("the cause"))
		assert.Equal(t, context.Canceled, redisx.Sleep(ctx, time.Hour), "ctx.Err(), not the cause")
		assert.Equal(t, context.Canceled, redisx.Sleep(ctx, 0), "an ended ctx shows also where there is nothing to wait for")
		assert.Equal(t, time.Minute, took())
	})
}

func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := redisx.NewGate()
		began := time.Now()
		assert.True(t, g.Open(time.Minute))
		assert.Equal(t, time.Minute, time.Since(began))
		go func() {
			time.Sleep(time.Second)
			g.Close()
		}()
		assert.False(t, g.Open(time.Minute))
		assert.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}

// The client may never return: Close gives up after CloseLimit, tells what is left, and ends the waits for the client.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, hung := redisx.NewGate(), make(chan struct{})
		require.NoError(t, g.Enter())
		waits := make(chan error, 1)
		go func() {
			defer g.Leave()
			waits <- g.Await(t.Context(), func() { <-hung })
		}()
		synctest.Wait()
		began := time.Now()
		err := g.Close()
		assert.Equal(t, redisx.CloseLimit, time.Since(began))
		require.EqualError(t, err, "Close waited 10s for the client, which has not returned (calls: 1); "+
			"close the client, or set its timeouts")
		err = <-waits
		require.ErrorIs(t, err, rmw.ErrClosed)
		require.ErrorAs(t, err, new(*redisx.Abandoned))
		require.Error(t, g.Close(), "at once")
		assert.Equal(t, redisx.CloseLimit, time.Since(began))
		close(hung)
		synctest.Wait()
		require.NoError(t, g.Close(), "nothing is left")
	})
}

// Close waits for functions of the user without a limit. The limit counts from the end of the last one.
func TestCloseWaitsForFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, hung := redisx.NewGate(), make(chan struct{})
		require.NoError(t, g.Enter())
		go func() {
			defer g.Leave()
			g.BeginFn()
			time.Sleep(time.Hour)
			g.EndFn()
			<-hung
		}()
		synctest.Wait()
		began := time.Now()
		require.Error(t, g.Close())
		assert.Equal(t, time.Hour+redisx.CloseLimit, time.Since(began))
		close(hung)
	})
}
