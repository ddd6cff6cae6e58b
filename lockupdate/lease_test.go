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

const lock = "/lock/"

// A slow fn keeps its lock: the lease is renewed at half, and others wait.
func TestRenewedWhileFnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		rdb := f.direct()
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			for range 6 {
				time.Sleep(5*time.Second + 10*time.Millisecond) // and a tick of the wheel
				synctest.Wait()
				assert.NoError(t, ctx.Err())
				left, err := rdb.PTTL(ctx, lock+key.Name).Result()
				assert.NoError(t, err)
				assert.Greater(t, left, 9*time.Second, "just renewed")
			}
			return rmw.String(cur.Text() + "x"), nil
		})
		require.NoError(t, err)
		assert.Equal(t, "wwwx", f.text(key))
		f.waitReleases()
		assert.Zero(t, rdb.Exists(t.Context(), lock+key.Name).Val(), "the lock is left behind")
		assert.Equal(t, 6, f.proxy.Count()["PTTL"])
	})
}

// assertJustBefore allows for a tick of the wheel, on the safe side.
func assertJustBefore(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.LessOrEqual(t, got, want)
	assert.GreaterOrEqual(t, got, want-10*time.Millisecond)
}

// lostBy runs an update whose lease is lost by what sabotage does once fn runs,
// and returns when fn's ctx ended, and why.
func lostBy(t *testing.T, cfg lockupdate.Config, sabotage func(f *fixture)) (after time.Duration, cause error) {
	t.Helper()
	f := newFixture(t, cfg)
	key := rmw.Key{Name: "s"}
	f.warm(key)
	_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		sabotage(f)
		began := time.Now()
		<-ctx.Done()
		after, cause = time.Since(began), context.Cause(ctx)
		return cur, ctx.Err()
	})
	require.ErrorIs(t, err, rmw.ErrLockLost)
	assert.NotErrorIs(t, err, context.Canceled, "the caller's ctx has not ended")
	assert.True(t, rmw.Retryable(err))
	var e *rmw.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "lockupdate", e.Path)
	assert.Equal(t, "www", f.text(key), "nothing was written")
	return after, cause
}

func TestLockTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after, cause := lostBy(t, lockupdate.Config{Lease: 10 * time.Second}, func(f *fixture) {
			require.NoError(t, f.direct().Del(t.Context(), lock+"s").Err())
		})
		assert.ErrorIs(t, cause, rmw.ErrLockLost)
		assert.Equal(t, 5*time.Second, after, "noticed by the next renewal")
	})
}

// A lock that cannot be renewed counts as lost before the server can let it go:
// at nine tenths of the lease.
func TestCannotBeRenewed(t *testing.T) {
	for name, action := range map[string]proxytest.Fault{
		"hangs":         {Action: proxytest.HangRequest},
		"cut":           {Action: proxytest.DropRequest},
		"error replies": {Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, cause := lostBy(t, lockupdate.Config{Lease: 10 * time.Second}, func(f *fixture) {
					action.Match, action.Times = isScript("renew"), -1
					f.proxy.Inject(action)
				})
				assert.ErrorIs(t, cause, rmw.ErrLockLost)
				assertJustBefore(t, 9*time.Second, after)
			})
		})
	}
}

// A renewal that fails is tried again while there is time.
func TestRenewalRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: 3, Action: proxytest.DropReply})
		key := rmw.Key{Name: "s"}
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(30 * time.Second)
			assert.NoError(t, ctx.Err())
			return rmw.String("x"), nil
		})
		require.NoError(t, err)
	})
}

// A stuck fn does not lock a key forever.
func TestMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after, cause := lostBy(t, lockupdate.Config{Lease: 10 * time.Second, MaxHold: 42 * time.Second}, func(*fixture) {})
		assert.ErrorContains(t, cause, "MaxHold")
		assertJustBefore(t, 42*time.Second, after)
	})
}

// … and an fn that does not notice does not begin anew, which would lock the key
// once more: it has had its time.
func TestMaxHoldEndsTheUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second, MaxHold: time.Minute})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(2 * time.Minute)
			_, err := f.another(lockupdate.Config{}).Update(t.Context(), key, appendText("+theirs"))
			require.NoError(t, err)
			return appendText("+mine")(ctx, cur)
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
		assert.Equal(t, 1, res.Attempts)
		assert.Equal(t, "www+theirs", f.text(key))
	})
}

// One renewal that is never answered does not cost the lease: the next one does
// not wait for it.
func TestOneHungRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.HangRequest})
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
			time.Sleep(30 * time.Second)
			return rmw.String("x"), ctx.Err()
		})
		require.NoError(t, err)
	})
}

// An fn that does not notice the end of its lease still cannot overwrite what
// others stored meanwhile: it is called again with it.
func TestStallPastTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		other := f.another(lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		defer f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})()
		res, err := f.store.Update(t.Context(), key, behindItsBack(func() {
			time.Sleep(30 * time.Second) // ignoring ctx
			_, err := other.Update(t.Context(), key, appendText("+theirs"))
			require.NoError(t, err)
			lockupdate.Settle(other)
		}, appendText("+mine")))
		require.NoError(t, err)
		assert.Equal(t, 2, res.Attempts)
		assert.Equal(t, "www+theirs+mine", f.text(key))
	})
}

// A renewal never takes a lock that is gone: nobody else must be kept out by a
// holder that has lost it.
func TestRenewNeverRecreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		rdb := f.direct()
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			require.NoError(t, rdb.Del(t.Context(), lock+key.Name).Err())
			<-ctx.Done()
			assert.Zero(t, rdb.Exists(t.Context(), lock+key.Name).Val())
			return cur, nil // written nothing, so no error is due
		})
		require.NoError(t, err)
		f.waitReleases()
		assert.Zero(t, rdb.Exists(t.Context(), lock+key.Name).Val())
	})
}

// A release touches only its own owner's lock.
func TestReleaseSparesTheNextOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		rdb := f.direct()
		_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			require.NoError(t, rdb.Del(t.Context(), lock+key.Name).Err())
			require.NoError(t, rdb.HSet(t.Context(), lock+key.Name, "another", "1").Err())
			return cur, nil
		})
		require.NoError(t, err)
		f.waitReleases()
		assert.Equal(t, "1", rdb.HGet(t.Context(), lock+key.Name, "another").Val())
	})
}

// The update of an fn that ignores its ctx, and returns after MaxHold, is committed
// under the guard: no other writer has changed the value meanwhile.
func TestFnThatIgnoresMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxHold: 600 * time.Millisecond})
		key := rmw.Key{Name: "s"}
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(1500 * time.Millisecond)
			require.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
			return appendText("x")(ctx, cur)
		})
		require.NoError(t, err)
		assert.Equal(t, 1, res.Attempts)
		assert.Equal(t, "x", f.text(key))
	})
}
