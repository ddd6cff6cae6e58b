package lockupdate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// A holder who asks is told that the lease is over, also if the watchdog, which should have
// found out, has not come to it: as after a pause of the whole process.
func TestErrLooksAtTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(granting{}, Config{Lease: time.Second})
		lock, err := s.Lock(t.Context(), "s")
		require.NoError(t, err)
		ctx, lease := lock.Context(), lock.turn.lease
		w := lease.tenure.watchdog
		w.mu.Lock()
		w.wheel.Cancel(&lease.timer) // nothing is due any more
		w.mu.Unlock()
		time.Sleep(890 * time.Millisecond)
		require.NoError(t, ctx.Err())
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, derived.Err(), "nobody has asked")
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
		<-ctx.Done()
		synctest.Wait()
		require.ErrorIs(t, derived.Err(), context.Canceled)
		assert.ErrorIs(t, lock.Unlock(), rmw.ErrLockLost)
		require.NoError(t, s.Close())
	})
}

// A renewal finds the lock gone that is within another one, which is ours as before: the watchdog
// ends the ctx of the inner one with its own lock held, and nobody waits for anybody.
func TestALockWithinAnotherIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(granting{}, Config{Lease: time.Second})
		defer func() { require.NoError(t, s.Close()) }()
		outer, err := s.Lock(t.Context(), "outer")
		require.NoError(t, err)
		inner, err := s.Lock(outer.Context(), "inner")
		require.NoError(t, err)
		w := s.watchdog
		assert.True(t, w.renewed(inner.turn.lease, w.now(), false, nil))
		require.ErrorIs(t, context.Cause(inner.Context()), rmw.ErrLockLost)
		require.NoError(t, outer.Context().Err())
		assert.ErrorIs(t, inner.Unlock(), rmw.ErrLockLost)
		assert.NoError(t, outer.Unlock())
	})
}
