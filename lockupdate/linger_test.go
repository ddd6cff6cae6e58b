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

// While the lock lingers, an update takes one round trip and one command.
func TestLingeringLockCostsOneRoundTrip(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{"written": appendText("2"), "unchanged": keep, "aborted": abort} {
		lingering(t, name, func(t *testing.T, f *fixture, key rmw.Key) {
			time.Sleep(lingerTime - time.Millisecond)
			start := f.meter.Read()
			_, err := f.store.Update(t.Context(), key, fn)
			assert.Contains(t, []error{nil, errRoomFull}, err)
			assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
			assert.Equal(t, 1, f.total(), f.calls())
		})
	}
}

// The lock is released after Config.Linger, and by Close at once.
func TestLingerEnds(t *testing.T) {
	lingering(t, "by itself", func(t *testing.T, f *fixture, key rmw.Key) {
		time.Sleep(lingerTime - time.Millisecond)
		assert.True(t, f.hasLock(key.Name))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.False(t, f.hasLock(key.Name))
		assert.Equal(t, 1, f.sent()["release"])
	})
	lingering(t, "by Close", func(t *testing.T, f *fixture, key rmw.Key) {
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Zero(t, time.Since(began))
		assert.False(t, f.hasLock(key.Name))
	})
}

// An update under a lingering lock sees foreign writes: the guard refuses its commit, or a read
// validates an fn that writes nothing or fails, and must succeed. In fake time all may have one time.
func TestLingerDetectsForeignWrites(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{
		"writes": appendText("2"), "keeps": keep, "fails": func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Text() != "theirs" {
				return abort(ctx, cur)
			}
			return cur, nil
		},
	} {
		lingering(t, name, func(t *testing.T, f *fixture, key rmw.Key) {
			f.writeBeside()
			res := f.update(key, fn)
			assert.Equal(t, 2, res.Attempts)
			assert.Equal(t, "theirs", res.Before.Text())
		})
	}
	lingering(t, "cannot tell", func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: 3, Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, keep)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
	})
}

// lingering runs a test in a bubble, with a fixture that has just updated key and still holds its lock.
func lingering(t *testing.T, name string, test func(t *testing.T, f *fixture, key rmw.Key)) {
	t.Helper()
	bubbleWithKey(t, name, lockupdate.Config{Linger: lingerTime}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.update(key, appendText("1"))
		f.proxy.ResetCalls()
		test(t, f, key)
	})
}
