package driver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// A hold that could not be renewed is in jeopardy, renewed soon again, and lost at the end of its lease. The
// holds beside it are not affected.
func TestFailOfOneHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		l := open(scripted{renew: func(_ context.Context, holds []*driver.Hold) error {
			renewals.Add(1)
			for _, h := range holds {
				if h.Name() == "bad" {
					h.Fail(errors.New("no majority"))
				}
			}
			return nil
		}}, driver.Config{Lease: 12 * time.Second})
		good, err := l.Lock(t.Context(), "good")
		require.NoError(t, err)
		bad, err := l.Lock(t.Context(), "bad")
		require.NoError(t, err)
		<-time.After(5 * time.Second)
		assert.Equal(t, lock.Jeopardy, lock.StateOf(bad.Context()))
		assert.Equal(t, lock.Safe, lock.StateOf(good.Context()))
		assert.EqualValues(t, 2, renewals.Load(), "after a third and a sixteenth of the lease")
		<-time.After(time.Minute)
		require.ErrorIs(t, bad.Unlock(), rmw.ErrLockLost)
		require.NoError(t, good.Unlock())
	})
}

// A hold whose renewal succeeds again is safe.
func TestFailOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		l := open(scripted{renew: func(_ context.Context, holds []*driver.Hold) error {
			if renewals.Add(1) == 1 {
				holds[0].Fail(errors.New("no majority"))
			}
			return nil
		}}, driver.Config{})
		require.NoError(t, l.WithLock(t.Context(), "a", func(ctx context.Context) error {
			<-time.After(time.Minute)
			assert.Equal(t, lock.Safe, lock.StateOf(ctx))
			return ctx.Err()
		}))
	})
}
