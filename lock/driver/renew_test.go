package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

// A lock that its holder has lost is not renewed, although its function still runs: another process gets it
// when the lease ends.
func TestLostLocksAreNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := locktest.NewMemory(driver.Config{Lease: 3 * time.Second, MaxHold: 10 * time.Second})
		stuck, begin := make(chan struct{}), time.Now()
		ended := make(chan error)
		go func() {
			ended <- m.WithLock(t.Context(), "a", func(context.Context) error { <-stuck; return nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, m.Peer().WithLock(ctx, "a", func(context.Context) error { return nil }))
		assert.Less(t, time.Since(begin), 14*time.Second, "MaxHold and a lease")
		close(stuck)
		require.ErrorIs(t, <-ended, rmw.ErrLockLost)
	})
}

// A Service that asks for a renewal during one gets another as soon as that ends.
func TestRenewalAskedForDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *driver.Locker
		var at []time.Duration
		began := time.Now()
		l = open(scripted{renew: func(context.Context, []*driver.Hold) error {
			if at = append(at, time.Since(began)); len(at) == 1 {
				l.Renew()
			}
			time.Sleep(time.Second)
			return nil
		}}, driver.Config{Lease: 30 * time.Second})
		require.NoError(t, l.WithLock(t.Context(), "a", func(context.Context) error {
			time.Sleep(25 * time.Second)
			return nil
		}))
		require.NoError(t, l.Close())
		assert.Equal(t, []time.Duration{10 * time.Second, 11 * time.Second, 21 * time.Second}, at)
	})
}
