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
// function runs on.
func TestLostLockIsReleasedWhileItsFunctionRuns(t *testing.T) {
	const lease, delay = 9 * time.Second, 3 * time.Second
	for name, test := range map[string]struct {
		cfg   driver.Config
		renew func(context.Context, []*driver.Hold) error
		after time.Duration // the last lease began
	}{
		"stuck":   {cfg: driver.Config{MaxHold: 10 * time.Second}, after: 9 * time.Second},
		"cut off": {renew: func(context.Context, []*driver.Hold) error { return rmw.ErrUnavailable }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var released []time.Duration
				test.cfg.Lease, test.cfg.LockDelay = lease, delay
				l := open(scripted{renew: test.renew, release: func(context.Context, string, string) error {
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
