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

// A lock counts as lost a margin before its lease ends: a tenth of the lease, or Options.Margin. A lease that was renewed
// earlier than Renew was called ends earlier, too. It never ends later.
func TestLeaseEnds(t *testing.T) {
	const lease, short = 12 * time.Second, 12 * time.Second * 9 / 10
	type leaseCase struct {
		margin   time.Duration
		renewals int           // that succeed
		early    time.Duration // by this much before Renew, the Service says
		want     time.Duration
	}
	inBubbles(t, map[string]leaseCase{
		"not renewed":      {want: short},
		"a margin":         {margin: 3 * time.Second, want: 9 * time.Second},
		"renewed":          {renewals: 1, want: lease/3 + short},
		"renewed earlier":  {renewals: 1, early: time.Second, want: lease/3 + short - time.Second},
		"renewed later":    {renewals: 1, early: -5 * time.Second, want: lease/3 + short},
		"renewed long ago": {renewals: 1, early: lease, want: short}, // the first lease lasts longer
	}, func(t *testing.T, tc leaseCase) {
		l := driver.New(scripted{renew: func(_ context.Context, holds []*driver.Hold) error {
			if tc.renewals--; tc.renewals < 0 {
				return errors.New("down")
			}
			holds[0].Since(time.Now().Add(-tc.early))
			return nil
		}}, driver.Options{Package: "test", Margin: tc.margin}, driver.Config{Lease: lease})
		err := l.WithLock(t.Context(), "a", func(ctx context.Context) error {
			began := time.Now()
			<-ctx.Done()
			assert.Equal(t, tc.want, time.Since(began))
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
	})
}

// A hold that could not be renewed is in jeopardy, and renewed soon again. It is safe if that succeeds, or else lost at
// the end of its lease. The holds beside it are not affected.
func TestFailOfOneHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		l := open(scripted{renew: func(_ context.Context, holds []*driver.Hold) error {
			first := renewals.Add(1) == 1
			for _, h := range holds {
				if h.Name() == "bad" || h.Name() == "once" && first {
					h.Fail(errors.New("no majority"))
				}
			}
			return nil
		}}, driver.Config{Lease: 12 * time.Second})
		held := map[string]lock.Hold{}
		for _, name := range []string{"good", "bad", "once"} {
			h, err := l.Lock(t.Context(), name)
			require.NoError(t, err)
			held[name] = h
		}
		<-time.After(4*time.Second + time.Millisecond)
		assert.Equal(t, lock.Jeopardy, lock.StateOf(held["once"].Context()))
		<-time.After(time.Second)
		assert.Equal(t, lock.Jeopardy, lock.StateOf(held["bad"].Context()))
		assert.Equal(t, lock.Safe, lock.StateOf(held["once"].Context()))
		assert.Equal(t, lock.Safe, lock.StateOf(held["good"].Context()))
		assert.EqualValues(t, 2, renewals.Load(), "after a third and a sixteenth of the lease")
		<-time.After(time.Minute)
		require.ErrorIs(t, held["bad"].Unlock(), rmw.ErrLockLost)
		require.NoError(t, held["once"].Unlock())
		require.NoError(t, held["good"].Unlock())
	})
}

// Wherever the Locker is when the process stops for a lease, the lock is lost, also if the service renews it afterwards.
func TestStopAroundARenewal(t *testing.T) {
	const lease = 9 * time.Second
	stopped := true
	for at := int64(1); stopped; at++ { // the number of the reading of the clock that shows the stop
		synctest.Test(t, func(t *testing.T) {
			var readings, renewals atomic.Int64
			began := time.Now()
			l := open(scripted{renew: func(context.Context, []*driver.Hold) error { renewals.Add(1); return nil }},
				driver.Config{Lease: lease, Now: func() time.Time {
					if now := time.Now(); now.Equal(began) || readings.Add(1) < at {
						return now
					}
					return time.Now().Add(lease)
				}})
			err := l.WithLock(t.Context(), "a", func(context.Context) error {
				time.Sleep(lease / 2)
				stopped = readings.Load() >= at
				return nil
			})
			if stopped {
				require.ErrorIs(t, err, rmw.ErrLockLost, "reading %d", at)
			} else {
				require.EqualValues(t, 1, renewals.Load(), "else no stop was around a renewal")
			}
			require.NoError(t, l.Close())
		})
	}
}
