package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Probe finds the features of the store. Its keys expire soon.
func TestProbe(t *testing.T) {
	for store, want := range map[proxytest.Store]lockupdate.Commit{
		proxytest.Lua:     lockupdate.CommitGuarded,
		proxytest.Redis84: lockupdate.CommitIFEQ,
		proxytest.Valkey9: lockupdate.CommitDELIFEQ,
		proxytest.Pika:    lockupdate.CommitVX,
		proxytest.OldPika: lockupdate.CommitVX,
		proxytest.Kvrocks: lockupdate.CommitCAS,
	} {
		bubble(t, store.String(), func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Engines: 2, Store: store}, lockupdate.Config{})
			got, err := lockupdate.Probe(t.Context(), f.rdb)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			for i := range 2 {
				for _, key := range f.proxy.Engine(i).Keys() {
					ttl := f.proxy.Engine(i).TTL(key)
					assert.True(t, 0 < ttl && ttl <= 11*time.Second, "%s expires in %v", key, ttl)
				}
			}
		})
	}
}

// Probe rejects a store that ignores conditions or lacks commands. It distinguishes that from a
// store that does not reply.
func TestProbeRejectsBrokenStores(t *testing.T) {
	refuse := func(name string) proxytest.Fault {
		return proxytest.Fault{
			Match: isRequest(name), Times: -1, Action: proxytest.RefuseWith, Text: "ERR unknown command",
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Redis84}, lockupdate.Config{})
		f.rdb.AddHook(before(unguard))
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		for _, c := range []string{"CommitGuarded", "CommitIFEQ", "CommitDELIFEQ", "CommitVX", "CommitCAS"} {
			assert.ErrorContains(t, err, c)
		}
	})
	for _, missing := range []string{"acquire", "renew", "release", "read"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Pika}, lockupdate.Config{})
			f.proxy.Inject(refuse(missing))
			_, err := lockupdate.Probe(t.Context(), f.rdb)
			require.ErrorIs(t, err, rmw.ErrUnsupported, missing)
		})
	}
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.proxy.Down(0)
		f.proxy.Down(1)
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.Error(t, err)
		require.NotErrorIs(t, err, rmw.ErrUnsupported)
	})
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangRequest})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := lockupdate.Probe(ctx, f.rdb)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, time.Since(began), 10*time.Second)
	})
	_, err := lockupdate.Probe(t.Context(), nil)
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

// Two services with different Commits find each other's locks malformed. Both report it, and the
// guard keeps their updates.
func TestMixedCommitsReportWrongKind(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), lock+"s", "somebody:1", time.Minute).Err())
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		require.ErrorContains(t, err, "LockName")
	})
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		rdb := f.direct()
		require.NoError(t, rdb.HSet(t.Context(), lock+"s", "somebody:1", 1).Err())
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		_, err = f.store.Inspect(t.Context(), "s")
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorIs(t, f.store.TryLock(t.Context(), "s", nothing), rmw.ErrWrongKind)
	})
}

// Pika before 4 sets no expiry below a second, so a lock with a shorter lease would never expire.
func TestPikaCountsInSeconds(t *testing.T) {
	tooShort := lockupdate.Config{Commit: lockupdate.CommitVX, Lease: 500 * time.Millisecond}
	short := lockupdate.New(redis.NewClient(&redis.Options{}), tooShort)
	_, err := short.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.NoError(t, short.Close())
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitVX, Lease: 1300 * time.Millisecond}, func(t *testing.T, f *fixture) {
		for _, ttl := range []time.Duration{time.Millisecond, 1300 * time.Millisecond} {
			key := rmw.Key{Name: "s", TTL: ttl}
			_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				assert.Positive(t, f.direct().PTTL(t.Context(), lock+"s").Val())
				return rmw.String(cur.Text() + "x"), nil
			})
			require.NoError(t, err)
			assert.Positive(t, f.direct().PTTL(t.Context(), "s").Val())
			key.TTL = 0
			f.update(key, appendText("y"))
			assert.Positive(t, f.direct().PTTL(t.Context(), "s").Val())
		}
	})
}

// On a server without KEEPTTL, each update shortens the expiry by less than half a millisecond, and
// never prolongs it.
func TestKeptExpiryDoesNotDrift(t *testing.T) {
	long.Repeats(t)
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		f.slow(3 * time.Millisecond)
		rdb := f.direct()
		key := rmw.Key{Name: "s"}
		require.NoError(t, rdb.Set(t.Context(), "s", "x", time.Minute).Err())
		began := time.Now()
		for range 1000 {
			_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				time.Sleep(7 * time.Millisecond)
				return rmw.String(time.Now().String()), nil
			})
			require.NoError(t, err)
		}
		left := time.Minute - time.Since(began)
		if s.store == proxytest.OldPika {
			// A second that ends between PTTL and the commit counts twice: these are six of
			// the 23 milliseconds of an update.
			assert.InDelta(t, left+time.Since(began)/6, rdb.PTTL(t.Context(), "s").Val(), float64(time.Since(began)/4))
			return
		}
		assert.InDelta(t, left-250*time.Millisecond, rdb.PTTL(t.Context(), "s").Val(), float64(250*time.Millisecond),
			"want less than %v in milliseconds", left)
	})
}
