package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

const lingerTime = 5 * time.Millisecond

// newLingering returns a fixture that has just updated key and still holds its lock.
func newLingering(t *testing.T) (*fixture, rmw.Key) {
	f, key := warmFixture(t, lockupdate.Config{Linger: lingerTime})
	f.update(key, appendText("1"))
	f.proxy.ResetCalls()
	return f, key
}

// hasLock reports whether the lock of a key exists.
func (f *fixture) hasLock(name string) bool {
	return f.direct().Exists(f.t.Context(), lock+name).Val() == 1
}

// While the lock lingers, an update takes one round trip and one command.
func TestLingeringLockCostsOneRoundTrip(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{"written": appendText("2"), "unchanged": keep, "aborted": abort} {
		bubble(t, name, func(t *testing.T) {
			f, key := newLingering(t)
			time.Sleep(lingerTime - time.Millisecond)
			start := f.meter.Read()
			_, err := f.store.Update(t.Context(), key, fn)
			if err != nil {
				require.Equal(t, errRoomFull, err)
			}
			assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
			assert.Equal(t, 1, f.total(), f.calls())
		})
	}
}

// The lock is released after Config.Linger.
func TestLingerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, key := newLingering(t)
		time.Sleep(lingerTime - time.Millisecond)
		assert.True(t, f.hasLock(key.Name))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.False(t, f.hasLock(key.Name))
		assert.Equal(t, 1, f.sent()["release"])
	})
}

// Close releases a lingering lock at once.
func TestCloseEndsLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, key := newLingering(t)
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Zero(t, time.Since(began))
		assert.False(t, f.hasLock(key.Name))
	})
}

// An update under a lingering lock sees foreign writes: the guard refuses its commit, or a read
// validates an fn that writes nothing. In fake time all may have one time.
func TestLingerDetectsForeignWrites(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{"writes": appendText("2"), "keeps": keep} {
		bubble(t, name, func(t *testing.T) {
			f, key := newLingering(t)
			require.NoError(t, f.direct().Set(t.Context(), key.Name, "theirs", 0).Err())
			res := f.update(key, fn)
			assert.Equal(t, 2, res.Attempts)
			assert.Equal(t, "theirs", res.Before.Text())
		})
	}
	bubble(t, "fails", func(t *testing.T) {
		f, key := newLingering(t)
		require.NoError(t, f.direct().Set(t.Context(), key.Name, "theirs", 0).Err())
		_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Text() != "theirs" {
				return cur, errRoomFull
			}
			return cur, nil
		})
		require.NoError(t, err, "fn failed on an old value")
	})
}

// A lingering lock that is lost is acquired again.
func TestLingeringLockLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, key := newLingering(t)
		require.NoError(t, f.direct().Del(t.Context(), lock+key.Name).Err())
		_, err := f.another(lockupdate.Config{}).Update(t.Context(), key, appendText("+theirs"))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		f.update(key, appendText("+mine"))
		assert.Equal(t, "www1+theirs+mine", f.text(key))
	})
}

// A lingering lock serves another key, which is read first.
func TestLingeringLockServesAnotherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Linger: lingerTime, LockName: func(string) string { return "/one/lock" }})
		a, b := rmw.Key{Name: "a"}, rmw.Key{Name: "b"}
		f.warm(a, b)
		for range 3 {
			for _, key := range []rmw.Key{a, b} {
				f.update(key, appendText(key.Name))
				time.Sleep(time.Millisecond)
			}
		}
		assert.Equal(t, 1, f.sent()["acquire"])
		assert.Equal(t, "wwwaaa", f.text(a))
		assert.Equal(t, "wwwbbb", f.text(b))
	})
}

// A process that uses its lingering lock without a pause still yields it to waiting processes.
func TestLingerLetsOthersIn(t *testing.T) {
	withKey(t, lockupdate.Config{Linger: lingerTime}, func(t *testing.T, f *fixture, key rmw.Key) {
		other := f.another(lockupdate.Config{})
		f.slow(100 * time.Microsecond)
		ctx, stop := context.WithCancel(t.Context())
		busy := make(chan struct{})
		go func() {
			defer close(busy)
			for ctx.Err() == nil {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
		}()
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			res, err := other.Update(ctx, key, appendText("y"))
			cancel()
			assert.NoError(t, err)
			assert.Less(t, res.Waited, 30*time.Millisecond)
		}
		stop()
		<-busy
	})
}
