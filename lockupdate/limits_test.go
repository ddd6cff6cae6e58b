package lockupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// If the server forgets a lock, two sections overlap until the next renewal: a limit of exclusion. The renewal ends
// the ctx of the first holder, and updates lose nothing.
func TestServerForgetsALock(t *testing.T) {
	const lease = 10 * time.Second
	for name, forget := range map[string]func(m *miniredis.Miniredis){
		"evicted, deleted or renamed":               func(m *miniredis.Miniredis) { m.Del("/lock/s") },
		"flushed, or restarted or promoted without": func(m *miniredis.Miniredis) { m.FlushAll() },
		"the databases are swapped":                 func(m *miniredis.Miniredis) { m.SwapDB(0, 1) },
		"the wall clock of the server steps ahead":  func(m *miniredis.Miniredis) { m.SetTime(time.Now().Add(lease)) },
	} {
		bubbleWith(t, name, lockupdate.Config{Lease: lease}, func(t *testing.T, f *fixture) {
			l := f.hold(t.Context(), f.store, "s")
			forget(f.proxy.Engine(0))
			other := f.another(lockupdate.Config{Lease: lease})
			require.NoError(t, other.WithLock(t.Context(), "s", func(ctx context.Context) error {
				assert.NoError(t, l.Context().Err(), "the limit: two sections at once")
				for range 3 {
					for store, held := range map[*lockupdate.Store]context.Context{f.store: l.Context(), other: ctx} {
						_, err := store.Update(held, rmw.Key{Name: "s"}, appendText("x"))
						require.NoError(t, err)
					}
				}
				assert.Equal(t, "xxxxxx", f.text(rmw.Key{Name: "s"}), "the guard loses nothing")
				<-time.After(lease/2 + lease/50)
				assert.ErrorIs(t, context.Cause(l.Context()), rmw.ErrLockLost, "the renewal finds that the lock is gone")
				return ctx.Err()
			}))
			require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
		})
	}
}
