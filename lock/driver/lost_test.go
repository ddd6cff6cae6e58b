package driver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// With a lock delay, a lock that was lost is released after the delay, also if its function has returned. A lock that is
// gone from the service is released at once, and without a delay any is. Close does not wait for the delay, and leaves
// the lock to the service.
//
// A session at the service can outlive the loss of a lock: its holder was stuck, or cut off for a while. So the Locker
// also releases the lock after the delay if its function runs on. Meanwhile it does not renew the lock.
func TestLostLockIsReleasedAfterItsDelay(t *testing.T) {
	const lease, delay, expired = 9 * time.Second, 3 * time.Second, 9 * time.Second * 9 / 10
	type renewal = func(context.Context, []*driver.Hold) error
	type lossCase struct {
		renew   renewal
		cfg     driver.Config
		noDelay bool
		closed  bool // the Locker, as soon as the function has returned
		runsOn  bool // the function, for a minute
		lost    time.Duration
		want    []time.Duration // when the lock is released
	}
	up := func(context.Context, []*driver.Hold) error { return nil }
	down := func(context.Context, []*driver.Hold) error { return rmw.ErrUnavailable }
	taken := func(_ context.Context, holds []*driver.Hold) error {
		for _, h := range holds {
			h.Lose(lock.LossTaken, "a test took it")
		}
		return nil
	}
	delayed, short := driver.Config{LockDelay: delay}, driver.Config{LockDelay: delay, MaxHold: time.Second}
	stuck := driver.Config{LockDelay: delay, MaxHold: lease + time.Second} // after three renewals
	inBubbles(t, map[string]lossCase{
		"expired":          {renew: down, cfg: delayed, lost: expired, want: []time.Duration{lease + delay}},
		"without":          {renew: down, lost: expired, want: []time.Duration{expired}},
		"NoDelay":          {renew: down, cfg: delayed, noDelay: true, lost: expired, want: []time.Duration{expired}},
		"taken":            {renew: taken, cfg: delayed, lost: lease/3 + 1, want: []time.Duration{lease / 3}},
		"max hold":         {renew: up, cfg: short, lost: time.Second, want: []time.Duration{lease + delay}},
		"not lost":         {renew: up, cfg: delayed, want: []time.Duration{time.Minute}},
		"Locker close":     {renew: down, cfg: delayed, lost: expired, closed: true},
		"stuck, runs on":   {renew: up, cfg: stuck, lost: stuck.MaxHold, runsOn: true, want: []time.Duration{2*lease + delay, time.Minute}},
		"cut off, runs on": {renew: down, cfg: delayed, lost: expired, runsOn: true, want: []time.Duration{lease + delay, time.Minute}},
	}, func(t *testing.T, c lossCase) {
		began := time.Now()
		var mu sync.Mutex
		var released []time.Duration
		c.cfg.Lease = lease
		l := driver.New(scripted{
			renew: func(ctx context.Context, holds []*driver.Hold) error {
				assert.True(t, c.lost == 0 || time.Since(began) < c.lost, "a lost lock is renewed")
				return c.renew(ctx, holds)
			},
			release: func(context.Context, string, string) error {
				mu.Lock()
				defer mu.Unlock()
				released = append(released, time.Since(began))
				return nil
			},
		}, driver.Options{Package: "test", NoDelay: c.noDelay}, c.cfg)
		err := l.WithLock(t.Context(), "a", func(ctx context.Context) error {
			ended := ctx.Done()
			if c.runsOn {
				ended = nil
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
			}
			assert.Equal(t, c.lost > 0, lock.StateOf(ctx) == lock.Lost)
			return nil
		})
		assert.Equal(t, c.lost > 0, errors.Is(err, rmw.ErrLockLost), err)
		if !c.closed {
			<-time.After(time.Hour)
		}
		before := time.Now()
		require.NoError(t, l.Close())
		assert.Zero(t, time.Since(before), "Close waited")
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, c.want, released)
	})
}
