package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// LockDelay keeps a lock from others after a crash of its holder, and after a loss while its fn still
// runs. With no delay, the negative control, others have the lock before. A release frees the lock at
// once.
func TestLockDelay(t *testing.T) {
	const lease = 10 * time.Second
	for _, s := range append([]nativeStore{{commit: lockupdate.CommitGuarded}}, nativeStores...) {
		for name, tc := range map[string]struct {
			delay, crashed, lost time.Duration
		}{
			"delay":    {5 * time.Second, 15 * time.Second, 15 * time.Second},
			"no delay": {0, 10 * time.Second, 9 * time.Second},
		} {
			bubble(t, s.commit.String()+"/"+name, func(t *testing.T) {
				cfg := lockupdate.Config{Commit: s.commit, Lease: lease, LockDelay: tc.delay}
				f := newFixture(t, cfg)
				other := f.another(cfg)
				taken := func(since time.Time) time.Duration {
					require.NoError(t, other.WithLock(t.Context(), "s", nothing))
					return time.Since(since)
				}

				l, err := f.store.Lock(t.Context(), "s")
				require.NoError(t, err)
				info, err := other.Inspect(t.Context(), "s")
				require.NoError(t, err)
				assert.Equal(t, lease+tc.delay, info.Left)
				time.Sleep(7 * time.Second) // renewed
				info, err = other.Inspect(t.Context(), "s")
				require.NoError(t, err)
				assert.InDelta(t, lease+tc.delay-2*time.Second, info.Left, float64(time.Second))
				require.NoError(t, l.Unlock())
				f.waitReleases()
				assert.Less(t, taken(time.Now()), time.Second, "released")

				// The process is cut off, and no renewal arrives.
				network := &contract.Network{}
				opts := f.proxy.Options()
				opts.Dialer = network.Dialer(opts.Dialer)
				rdb := redis.NewClient(opts)
				crashing := lockupdate.New(rdb, cfg)
				_, err = crashing.Lock(t.Context(), "s")
				require.NoError(t, err)
				restore := network.Cut()
				between(t, tc.crashed, taken(time.Now()), s.unit, "crashed")
				restore()
				t.Cleanup(func() { _ = rdb.Close() })

				// Renewals fail, and the store can be reached again when the lock is lost.
				remove := f.proxy.Inject(proxytest.Fault{Match: isRequest("renew"), Times: -1, Action: proxytest.DropRequest})
				began := time.Now()
				l, err = f.store.Lock(t.Context(), "s")
				require.NoError(t, err)
				<-l.Context().Done()
				remove()
				between(t, tc.lost, taken(began), s.unit, "lost")
				require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
			})
		}
	}
}

// between accepts a duration that is as expected, or later by a poll and the unit of the server's clock.
func between(t *testing.T, want, got, unit time.Duration, when string) {
	assert.GreaterOrEqual(t, got, want-10*time.Millisecond, when)
	assert.LessOrEqual(t, got, want+500*time.Millisecond+unit, when)
}

// The delay holds for the next caller in the same process, too.
func TestLockDelayWithinAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second, LockDelay: 5 * time.Second, MaxHold: time.Minute})
		began := time.Now()
		stuck, err := f.store.Lock(t.Context(), "s")
		require.NoError(t, err)
		require.NoError(t, f.store.WithLock(t.Context(), "s", nothing))
		assert.Greater(t, time.Since(began), time.Minute+5*time.Second)
		require.ErrorIs(t, stuck.Unlock(), rmw.ErrLockLost)
		require.ErrorIs(t, context.Cause(stuck.Context()), rmw.ErrLockLost)
	})
}

// A delay may be of any length.
func TestEndlessLockDelay(t *testing.T) {
	withFixture(t, lockupdate.Config{LockDelay: 1<<63 - 1}, func(t *testing.T, f *fixture) {
		require.NoError(t, f.store.WithLock(t.Context(), "s", nothing))
		f.waitReleases()
		require.NoError(t, f.another(lockupdate.Config{}).TryLock(t.Context(), "s", nothing))
		require.ErrorIs(t, lockupdate.Config{LockDelay: -1}.Validate(), rmw.ErrInvalid)
	})
}
