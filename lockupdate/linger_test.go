package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
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
// validates an fn that writes nothing, and must succeed. In fake time all may have one time.
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
	bubble(t, "cannot tell", func(t *testing.T) {
		f, key := newLingering(t)
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: 3, Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, keep)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
	})
}
