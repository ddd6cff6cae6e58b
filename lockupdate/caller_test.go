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

// An Update of the same key within fn is refused at once, with a reason, also within WithLock.
func TestNestedUpdate(t *testing.T) {
	for name, do := range ways {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			_, err := do(t.Context(), f.store, testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				_, err := f.store.Update(ctx, testKey, appendText("inner"))
				require.ErrorIs(t, err, rmw.ErrInvalid)
				require.ErrorContains(t, err, "wait for itself")
				_, err = f.store.Update(ctx, rmw.Key{Name: "another"}, appendText("fine"))
				require.NoError(t, err)
				return rmw.String("outer"), nil
			})
			require.NoError(t, err)
			assert.Equal(t, "outer", f.text(testKey))
		})
	}
}

// A key must not be its own lock, nor look like a lock.
func TestCollidingLockNamesAreRefused(t *testing.T) {
	same := func(key string) string { return key }
	for name, lockName := range map[string]func(string) string{"s": same, "/lock/k": nil, "/fence/lock/k": nil, "/wait/lock/k": nil} {
		s := lockupdate.New(redis.NewClient(&redis.Options{}), lockupdate.Config{LockName: lockName})
		_, err := s.Update(t.Context(), rmw.Key{Name: name}, keep)
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		require.ErrorContains(t, err, "LockName", name)
		require.NoError(t, s.Close())
	}
}

// An Update that is queued behind a WithLock reports its own operation.
func TestErrorsOfQueuedCallsNameTheirOp(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.takeAsOther(key, 0)
		locked := make(chan error, 1)
		go func() { locked <- f.store.WithLock(t.Context(), "s", nothing) }()
		synctest.Wait()
		update := start(t.Context(), f.store, key, appendText("x"))
		f.refuse("acquire", 1, "LOADING")
		var e *rmw.Error
		require.ErrorAs(t, <-locked, &e)
		assert.Equal(t, "lock", e.Op)
		wait(update)
		require.ErrorAs(t, update.err, &e)
		assert.Equal(t, "acquire", e.Op)
	})
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
		call := start(t.Context(), f.store, key, after(20*time.Second, appendText("x")))
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Equal(t, 20*time.Second, time.Since(began))
		succeed(t, call)
		assert.False(t, f.hasLock(key.Name))
		assert.Equal(t, "wwwx", f.direct().Get(t.Context(), key.Name).Val())
	})
}

// If the client is closed first, Close reports the locks that were not released.
func TestCloseAfterTheClient(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		rdb := redis.NewClient(f.proxy.Options())
		s := lockupdate.New(rdb, lockupdate.Config{})
		unblock := f.block("release")
		_, err := s.Update(t.Context(), testKey, appendText("x"))
		require.NoError(t, err)
		require.NoError(t, rdb.Close())
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		unblock()
		require.ErrorContains(t, <-closed, "not released")
	})
}
