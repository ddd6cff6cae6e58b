package lockupdate_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// drawToken returns the token of a new critical section.
func drawToken(t *testing.T, s *lockupdate.Store, name string) uint64 {
	t.Helper()
	var token uint64
	require.NoError(t, s.WithLock(t.Context(), name, func(ctx context.Context) (err error) {
		token, err = locking.Token(ctx)
		return err
	}))
	lockupdate.Settle(s)
	return token
}

// The first Token of a lock costs one command, others are free. An update without Token costs none.
func TestTokenBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		drawToken(t, f.store, "s")
		f.settle()
		start := f.meter.Read()
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			first, err := locking.Token(ctx)
			require.NoError(t, err)
			second, err := locking.Token(ctx)
			require.NoError(t, err)
			assert.Equal(t, first, second)
			return rmw.String(strconv.FormatUint(first, 10)), nil
		})
		require.NoError(t, err)
		assert.Equal(t, res.After.Text(), strconv.FormatUint(res.Token, 10))
		f.waitReleases()
		assert.EqualValues(t, 4, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"acquire", "read", "token", "commit_string", "release"}, f.calls())
		res, err = f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		assert.Zero(t, res.Token)
	})
}

// Tokens grow even if their counter expires, or is lost in a failover.
func TestTokensGrowWithoutTheirCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		before := drawToken(t, f.store, "s")
		ttl := f.direct().PTTL(t.Context(), "/fence"+lock+"s").Val()
		assert.Equal(t, 7*24*time.Hour, ttl, "the counter must expire")
		require.NoError(t, f.direct().Del(t.Context(), "/fence"+lock+"s").Err())
		time.Sleep(time.Millisecond)
		assert.Greater(t, drawToken(t, f.store, "s"), before)
	})
}

// A token that is drawn after the lease could exceed that of the next holder. Token returns an
// error instead.
func TestLateTokenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		drawToken(t, f.store, "s")
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Action: proxytest.Delay, Delay: 2 * time.Second})
		l, err := f.store.Lock(t.Context(), "s")
		require.NoError(t, err)
		_, err = locking.Token(context.WithoutCancel(l.Context()))
		require.ErrorIs(t, err, rmw.ErrLockLost)
		_, err = locking.Token(context.WithoutCancel(l.Context()))
		require.ErrorIs(t, err, rmw.ErrLockLost, "and none later")
		require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
	})
}

// An error of Token on an ended ctx reports that the lock was lost.
func TestTokenOfALockLostMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Times: 1, Action: proxytest.Delay, Delay: 2 * time.Second})
		l, err := f.store.Lock(t.Context(), "s")
		require.NoError(t, err)
		_, err = locking.Token(l.Context())
		require.ErrorIs(t, err, rmw.ErrLockLost)
		require.NotErrorIs(t, err, context.Canceled, "no caller has canceled anything")
		require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
	})
}

func TestTokenFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		_, err := locking.Token(t.Context())
		require.ErrorIs(t, err, rmw.ErrInvalid)
		before := drawToken(t, f.store, "s")
		f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Action: proxytest.DropReply})
		assert.Greater(t, drawToken(t, f.store, "s"), before, "a lost answer skips a number")
		f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Action: proxytest.DropRequest, Times: 3})
		err = f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			_, err := locking.Token(ctx)
			return err
		})
		require.ErrorIs(t, err, rmw.ErrUnavailable)
	})
}

// A ctx that outlives its lock gets no token, which could exceed that of the current holder.
func TestNoTokenAfterUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		var outlived context.Context
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			outlived = context.WithoutCancel(ctx)
			return nil
		}))
		f.settle()
		_, err := locking.Token(outlived)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Empty(t, f.calls())
	})
}
