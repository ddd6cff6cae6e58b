package torture

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/rmw"
)

// granting grants every lock.
type granting struct{}

func (granting) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, nil
}
func (granting) Renew(context.Context, []*driver.Hold) error            { return nil }
func (granting) Release(context.Context, string, string) error          { return nil }
func (granting) Inspect(context.Context, string) (i lock.Info, _ error) { return i, nil }

// While a machine is suspended its monotonic clock stops, and the lease goes on at the server. Afterwards the wall
// clock is ahead, and each Locker counts the lock as lost. A wall clock that steps back ends no lease, and hides no later
// suspend.
func TestSuspendEndsLeases(t *testing.T) {
	if stepWall == nil {
		t.Skip("a wall clock steps on linux/amd64 only")
	}
	const lease = time.Minute
	rdb := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr})
	defer func() { require.NoError(t, rdb.Close()) }()
	for name, l := range map[string]interface {
		lock.Locker
		io.Closer
	}{
		"lockupdate": lockupdate.New(rdb, lockupdate.Config{Lease: lease}),
		"redlock":    redlock.New([]redlock.Node{rdb}, redlock.Config{Lease: lease}),
		"driver":     driver.New(granting{}, driver.Options{}, driver.Config{Lease: lease}),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { require.NoError(t, l.Close()) }()
			err := l.WithLock(t.Context(), "section", func(ctx context.Context) error {
				stepWall(-3600)
				assert.NoError(t, ctx.Err())
				stepWall(120)
				assert.ErrorIs(t, ctx.Err(), context.Canceled)
				stepWall(3600 - 120)
				return nil
			})
			assert.ErrorIs(t, err, rmw.ErrLockLost)
		})
	}
}
