package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// lateTimer is a ctx whose timer has not fired yet, as on a busy machine.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now(), true }

// A timeout of the service's own must not pass for the end of the caller's ctx. The other way round, etcd gets the deadline
// with a request and answers "request timed out", perhaps before the timer of ctx fires.
func TestTimeoutOfTheService(t *testing.T) {
	for _, c := range []struct {
		ctx               context.Context
		err, want, unwant error
	}{
		{t.Context(), context.DeadlineExceeded, rmw.ErrUnavailable, context.DeadlineExceeded},
		{lateTimer{t.Context()}, errors.New("etcdserver: request timed out"), context.DeadlineExceeded, rmw.ErrUnavailable},
	} {
		l := open(scripted{fail: func(context.Context) error { return c.err }}, driver.Config{})
		for call, do := range calls(l) {
			err := do(c.ctx)
			require.ErrorIs(t, err, c.want, call)
			require.NotErrorIs(t, err, c.unwant, call)
			assert.ErrorContains(t, err, "deadline exceeded", call)
			assert.Equal(t, errors.Is(err, rmw.ErrUnavailable), rmw.Retryable(err), call)
		}
		require.NoError(t, l.Close())
	}
}

// A wait with the ctx of another lock that is lost ends with that loss.
func TestWaitUnderALostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(scripted{
			acquire: func(ctx context.Context, r driver.Request) (driver.Grant, error) {
				switch r.Name {
				case "inner":
					return driver.Grant{}, rmw.ErrContended
				case "late": // free in the moment in which the wait ends
					<-ctx.Done()
				}
				return driver.Grant{Token: 1}, nil
			},
		}, driver.Config{MaxHold: time.Second})
		for _, name := range []string{"late", "inner"} {
			err := l.WithLock(t.Context(), "outer", func(ctx context.Context) error {
				err := l.WithLock(ctx, name, nothing)
				require.ErrorIs(t, err, rmw.ErrContended)
				for _, err := range []error{err, l.WithLock(ctx, name, nothing)} { // the second begins after the loss
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorIs(t, err, rmw.ErrLockLost)
					require.ErrorContains(t, err, "held for the 1s that Config.MaxHold allows")
				}
				return nil
			})
			require.ErrorIs(t, err, rmw.ErrLockLost)
		}
	})
}
