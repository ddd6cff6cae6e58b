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

// taken makes another owner hold the lock of key, for ttl (0: forever).
func (f *fixture) taken(key rmw.Key, ttl time.Duration) {
	rdb := f.direct()
	require.NoError(f.t, rdb.HSet(f.t.Context(), lock+key.Name, "another", "1").Err())
	if ttl > 0 {
		require.NoError(f.t, rdb.PExpire(f.t.Context(), lock+key.Name, ttl).Err())
	}
}

// A waiter polls, but never sleeps past the end of the holder's lease: a lock
// whose holder died is taken over within a millisecond of it, whatever Poll says.
func TestWaitEndsWithTheHoldersLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Poll: rmw.Backoff{Base: time.Hour, Max: time.Hour}})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 7*time.Second)
		began := time.Now()
		res, err := f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		took := time.Since(began)
		assert.LessOrEqual(t, took, 7*time.Second+2*time.Millisecond)
		assert.Equal(t, took, res.Waited)
		assert.Equal(t, 1, res.Attempts, "waiting is not calling fn")
	})
}

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxWait: 3 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 0)
		began := time.Now()
		res, err := f.store.Update(t.Context(), key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.True(t, rmw.Retryable(err))
		assert.ErrorContains(t, err, "MaxWait")
		assert.Equal(t, 3*time.Second, time.Since(began))
		assert.Equal(t, 3*time.Second, res.Waited)
		assert.Zero(t, res.Attempts)
		assert.Equal(t, "www", f.text(key))
	})
}

// The number of polls of a long wait is bounded by Poll.Max: 64 ms with full
// jitter, so about 31 a second.
func TestPollsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxWait: 100 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 0)
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrContended)
		polls := 0
		for _, name := range f.calls() {
			if name == "acquire" {
				polls++
			}
		}
		assert.InDelta(t, 100*1000/32, polls, 400)
	})
}

func TestCloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 0)
		done := make(chan error, 1)
		go func() {
			_, err := f.store.Update(t.Context(), key, appendText("x"))
			done <- err
		}()
		time.Sleep(time.Second)
		require.NoError(t, f.store.Close())
		err := <-done
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = f.store.Update(t.Context(), key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = f.store.Read(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrClosed)
		require.NoError(t, f.store.Close(), "closing twice")
	})
}

// Close lets a running fn finish, and returns only when its lock is released.
func TestCloseFlushesReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
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

// Updates of one key from one goroutine follow each other without a poll: the
// next one waits for the release of the last.
func TestNextUpdateDoesNotMeetItsOwnLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		for range 10 {
			res, err := f.store.Update(t.Context(), key, appendText("x"))
			require.NoError(t, err)
			assert.Zero(t, res.Waited)
		}
		f.waitReleases()
		// One that comes before the last has let go needs fewer commands; none needs more.
		assert.LessOrEqual(t, len(f.calls()), 40)
		for _, c := range f.proxy.Calls() {
			if says("acquire")(c.Args) {
				assert.Equal(t, "integer", c.Reply, "the lock was refused: it had not been given back")
			}
		}
	})
}

// Something else under the lock's name is said so, not waited for.
func TestLockNameTakenBySomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		require.NoError(t, f.direct().Set(t.Context(), lock+key.Name, "a document", 0).Err())
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		assert.ErrorContains(t, err, "LockName")
	})
}

// Closing the client first is a mistake that would cost others a whole lease; it
// is said so.
func TestCloseAfterTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		rdb := redis.NewClient(f.proxy.Options())
		s := lockupdate.New(rdb, lockupdate.Config{})
		letGo := f.holdUp("release")
		_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.NoError(t, err)
		require.NoError(t, rdb.Close())
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		letGo()
		require.ErrorContains(t, <-closed, "not released")
	})
}
