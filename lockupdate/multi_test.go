package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A Multi of a Store and a Locker of package driver ends its ctx at once if either was stopped for a lease, in whichever
// order it takes them.
func TestMultiOfTwoKindsOfLockers(t *testing.T) {
	const lease = 10 * time.Second
	for _, order := range []int{-1, 1} {
		for _, stops := range []string{"store", "memory"} {
			synctest.Test(t, func(t *testing.T) {
				f, memory := newFixture(t, lockupdate.Config{Lease: lease}), locktest.NewMemory(driver.Config{Lease: lease})
				defer func() { assert.NoError(t, memory.Close()) }()
				m := locking.Multi{Locks: []locking.Named{{Locker: f.store, Name: "a"}, {Locker: memory, Name: "a", Order: order}}}
				err := m.WithLock(t.Context(), func(ctx context.Context) error {
					assert.Equal(t, locking.Safe, locking.StateOf(ctx))
					if stops == "store" {
						f.store.Stall(lease)
					} else {
						memory.Stall(lease)
					}
					require.Error(t, ctx.Err())
					assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
					assert.Equal(t, locking.Lost, locking.StateOf(ctx))
					return nil
				})
				require.ErrorIs(t, err, rmw.ErrLockLost, "%s, %d", stops, order)
			})
		}
	}
}
