package driver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// A session at the service can outlive the loss of a lock: its holder was stuck, or cut off for a
// while. The Locker releases the lock when the lease and the lock delay have ended, although the
// function runs on. Meanwhile it does not renew the lock.
func TestLostLockIsReleasedWhileItsFunctionRuns(t *testing.T) {
	const lease, delay = 9 * time.Second, 3 * time.Second
	for name, test := range map[string]struct {
		cfg     driver.Config
		renewal error
		after   time.Duration // the last lease began
		lost    time.Duration
	}{
		"stuck":   {cfg: driver.Config{MaxHold: 10 * time.Second}, after: 9 * time.Second, lost: 10 * time.Second},
		"cut off": {renewal: rmw.ErrUnavailable, lost: lease * 9 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var released []time.Duration
				test.cfg.Lease, test.cfg.LockDelay = lease, delay
				renew := func(context.Context, []*driver.Hold) error {
					assert.Less(t, time.Since(began), test.lost, "a lost lock is renewed")
					return test.renewal
				}
				l := open(scripted{renew: renew, release: func(context.Context, string, string) error {
					mu.Lock()
					defer mu.Unlock()
					released = append(released, time.Since(began))
					return nil
				}}, test.cfg)
				err := l.WithLock(t.Context(), "a", func(ctx context.Context) error {
					<-time.After(time.Hour)
					assert.Equal(t, lock.Lost, lock.StateOf(ctx))
					return nil
				})
				require.ErrorIs(t, err, rmw.ErrLockLost)
				require.NoError(t, l.Close())
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, []time.Duration{test.after + lease + delay, time.Hour}, released)
			})
		})
	}
}

// With a lock delay, a lock that was lost is released after the delay, also if its function has returned. A lock that is
// gone from the service is released at once, and without a delay any is. Close does not wait for the delay, and leaves
// the lock to the service.
func TestLostLockIsReleasedAfterItsDelay(t *testing.T) {
	const lease, delay = 10 * time.Second, 5 * time.Second
	down := func(context.Context, []*driver.Hold) error { return rmw.ErrUnavailable }
	taken := func(_ context.Context, holds []*driver.Hold) error {
		for _, h := range holds {
			h.Lose(lock.LossTaken, "a test took it")
		}
		return nil
	}
	for name, test := range map[string]struct {
		renew   func(context.Context, []*driver.Hold) error
		cfg     driver.Config
		noDelay bool
		closed  bool
		want    []time.Duration
	}{
		"expired":      {renew: down, cfg: driver.Config{LockDelay: delay}, want: []time.Duration{lease + delay}},
		"without":      {renew: down, want: []time.Duration{lease * 9 / 10}},
		"NoDelay":      {renew: down, cfg: driver.Config{LockDelay: delay}, noDelay: true, want: []time.Duration{lease * 9 / 10}},
		"taken":        {renew: taken, cfg: driver.Config{LockDelay: delay}, want: []time.Duration{lease / 3}},
		"max hold":     {cfg: driver.Config{LockDelay: delay, MaxHold: time.Second}, want: []time.Duration{lease + delay}},
		"not lost":     {cfg: driver.Config{LockDelay: delay}, want: []time.Duration{time.Minute}},
		"Locker close": {renew: down, cfg: driver.Config{LockDelay: delay}, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var released []time.Duration
				test.cfg.Lease = lease
				l := driver.New(scripted{renew: test.renew, release: func(context.Context, string, string) error {
					released = append(released, time.Since(began))
					return nil
				}}, driver.Options{Package: "test", NoDelay: test.noDelay}, test.cfg)
				_ = l.WithLock(t.Context(), "a", func(ctx context.Context) error {
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
					return nil
				})
				if !test.closed {
					<-time.After(time.Hour)
				}
				before := time.Now()
				require.NoError(t, l.Close())
				assert.Zero(t, time.Since(before), "Close waited")
				assert.Equal(t, test.want, released)
			})
		})
	}
}
