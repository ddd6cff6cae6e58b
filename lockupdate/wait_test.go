package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// takeAsOther makes another owner hold the lock of key for ttl (0: forever).
func (f *fixture) takeAsOther(key rmw.Key, ttl time.Duration) {
	rdb := f.direct()
	require.NoError(f.t, rdb.HSet(f.t.Context(), lock+key.Name, "another", "1").Err())
	if ttl > 0 {
		require.NoError(f.t, rdb.PExpire(f.t.Context(), lock+key.Name, ttl).Err())
	}
}

// A waiter does not sleep past the end of the holder's lease, for any Config.Poll. The lock of a
// dead holder is taken within a millisecond after that.
func TestWaitEndsWithTheHoldersLease(t *testing.T) {
	withKey(t, lockupdate.Config{Poll: rmw.Backoff{Base: time.Hour, Max: time.Hour}}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.takeAsOther(key, 7*time.Second)
		began := time.Now()
		res := f.update(key, appendText("x"))
		took := time.Since(began)
		assert.LessOrEqual(t, took, 7*time.Second+2*time.Millisecond)
		assert.Equal(t, took, res.Waited)
		assert.Equal(t, 1, res.Attempts, "waiting does not count as an attempt")
	})
}

// Close lets a running fn finish, and returns when its lock is released.
func TestCloseFlushesReleases(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		running := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				close(running)
				time.Sleep(20 * time.Second)
				return rmw.String(cur.Text() + "x"), nil
			})
			done <- err
		}()
		<-running
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Equal(t, 20*time.Second, time.Since(began))
		require.NoError(t, <-done)
		rdb := f.direct()
		assert.Zero(t, rdb.Exists(t.Context(), lock+key.Name).Val())
		assert.Equal(t, "wwwx", rdb.Get(t.Context(), key.Name).Val())
	})
}

// If the client is closed first, Close reports the locks that were not released.
func TestCloseAfterTheClient(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		rdb := redis.NewClient(f.proxy.Options())
		s := lockupdate.New(rdb, lockupdate.Config{})
		unblock := f.block("release")
		_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.NoError(t, err)
		require.NoError(t, rdb.Close())
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		unblock()
		require.ErrorContains(t, <-closed, "not released")
	})
}
