package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// renewsOnce grants every lock, and renews leases once.
type renewsOnce struct {
	early   time.Duration
	renewed bool
}

func (s *renewsOnce) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{Token: 1}, nil
}

func (s *renewsOnce) Renew(_ context.Context, holds []*driver.Hold) error {
	if s.renewed {
		return errors.New("down")
	}
	s.renewed = true
	for _, h := range holds {
		h.Since(time.Now().Add(-s.early))
	}
	return nil
}

func (s *renewsOnce) Release(context.Context, string, string) error { return nil }

func (s *renewsOnce) Inspect(context.Context, string) (lock.Info, error) { return lock.Info{}, nil }

// A renewed lease ends earlier by what the Service was late to hear of it, and never later.
func TestSinceEndsTheLeaseEarlier(t *testing.T) {
	const lease = 12 * time.Second
	for early, want := range map[time.Duration]time.Duration{
		0:                lease/3 + lease - lease/10,
		time.Second:      lease/3 + lease - lease/10 - time.Second,
		-5 * time.Second: lease/3 + lease - lease/10,
		lease:            lease - lease/10, // the first lease lasts longer
	} {
		t.Run(early.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := driver.New(&renewsOnce{early: early}, driver.Options{Package: "test", Tokens: true}, driver.Config{Lease: lease})
				err := l.WithLock(t.Context(), "a", func(ctx context.Context) error {
					began := time.Now()
					<-ctx.Done()
					assert.Equal(t, want, time.Since(began))
					return nil
				})
				require.ErrorIs(t, err, rmw.ErrLockLost)
			})
		})
	}
}
