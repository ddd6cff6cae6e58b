package lockupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A commit keeps the expiry by KEEPTTL. A server before Redis 6 refuses that. Then the script finds
// the expiry itself in the same round trip, and later commits of the Store do so at once.
func TestKeepTTL(t *testing.T) {
	for version, asks := range map[string][]string{
		"5.0": {"keepttl", "keep", "keep"},
		"3.2": {"keepttl", "keep", "keep"},
		"6.0": {"keepttl", "keepttl", "keepttl"},
	} {
		bubble(t, version, func(t *testing.T) {
			profile, err := proxycompat.Redis().Over(version)
			require.NoError(t, err)
			f := newFixtureOn(t, profile, lockupdate.Config{})
			rdb := f.direct()
			require.NoError(t, rdb.Set(t.Context(), "mortal", "a", time.Hour).Err())
			require.NoError(t, rdb.Set(t.Context(), "immortal", "a", 0).Err())
			require.NoError(t, rdb.Set(t.Context(), "last moment", "a", time.Minute+time.Millisecond).Err())
			_, err = f.another(lockupdate.Config{}).Update(t.Context(), testKey, appendText("loads the scripts"))
			require.NoError(t, err)
			time.Sleep(time.Minute)

			var asked []string
			for _, key := range []string{"mortal", "last moment", "immortal"} {
				f.proxy.ResetCalls()
				res := f.update(rmw.Key{Name: key}, appendText("b"))
				assert.Equal(t, 1, res.Attempts)
				f.waitReleases()
				assert.Equal(t, "ab", rdb.Get(t.Context(), key).Val())
				for _, c := range f.proxy.Calls() {
					if lockupdate.ScriptName(c.Args) == "commit_string" {
						asked = append(asked, c.Args[4])
					}
				}
			}
			assert.Equal(t, asks, asked, "one commit each")
			assert.Equal(t, 59*time.Minute, rdb.PTTL(t.Context(), "mortal").Val())
			assert.Equal(t, time.Millisecond, rdb.PTTL(t.Context(), "last moment").Val())
			assert.EqualValues(t, -1, rdb.PTTL(t.Context(), "immortal").Val())
			time.Sleep(time.Millisecond)
			assert.Zero(t, rdb.Exists(t.Context(), "last moment").Val())
		})
	}
}

// Updates that keep the expiry do not prolong it.
func TestKeptExpiryEnds(t *testing.T) {
	for _, s := range append(nativeStores, nativeStore{commit: lockupdate.CommitVX, store: proxytest.Pika}) {
		bubble(t, s.store.String(), func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Store: s.store}, lockupdate.Config{Commit: s.commit})
			require.NoError(t, f.direct().Set(t.Context(), "s", "x", 3*time.Second).Err())
			began := time.Now()
			for gone := false; !gone; time.Sleep(90 * time.Millisecond) {
				f.update(testKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					if gone = !cur.Exists(); gone {
						return cur, nil
					}
					return rmw.String(cur.Text() + "y"), nil
				})
				require.Less(t, time.Since(began), 5*time.Second, "it does not expire")
			}
		})
	}
}

// A retried PTTL does not subtract the time of the first try.
func TestRepeatedExpiryQueryIsAccurate(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		f.warm(rmw.Key{Name: "other"})
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "x", time.Minute+time.Millisecond).Err())
		f.proxy.Inject(proxytest.Fault{
			Match: func(args []string) bool { return args[0] == "pttl" && args[1] == "s" }, Action: proxytest.HangRequest,
		})
		began := time.Now()
		f.update(testKey, appendText("y"))
		assert.InDelta(t, time.Minute-time.Since(began), rdb.PTTL(t.Context(), "s").Val(), float64(10*time.Millisecond))
	})
}

// A key that was absent when its expiry was read is not written. Another writer may create it again
// with the same value and a new expiry, which would be lost.
func TestRecreatedKeyIsNotOverwritten(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "0", time.Minute).Err())
		calls := 0
		f.update(testKey, func(context.Context, rmw.Value) (rmw.Value, error) {
			if calls++; calls == 1 {
				require.NoError(t, rdb.Del(t.Context(), "s").Err())
				f.proxy.Inject(proxytest.Fault{Match: isRequest("read"), Action: proxytest.None, Do: func() {
					assert.NoError(t, rdb.Set(context.Background(), "s", "0", time.Minute).Err())
				}})
			}
			return rmw.String("1"), nil
		})
		assert.Equal(t, 2, calls)
		assert.Positive(t, rdb.PTTL(t.Context(), "s").Val())
	})
}

// On a server without KEEPTTL, each update shortens the expiry by less than half a millisecond, and
// never prolongs it.
func TestKeptExpiryDoesNotDrift(t *testing.T) {
	long.Repeats(t)
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		f.slow(3 * time.Millisecond)
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "x", time.Minute).Err())
		began := time.Now()
		for range 1000 {
			f.update(testKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				time.Sleep(7 * time.Millisecond)
				return rmw.String(time.Now().String()), nil
			})
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

// Pika before 4 sets no expiry below a second, so a lock with a shorter lease would never expire.
func TestPikaCountsInSeconds(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitVX, Lease: 1300 * time.Millisecond}, func(t *testing.T, f *fixture) {
		for _, ttl := range []time.Duration{time.Millisecond, 1300 * time.Millisecond} {
			key := rmw.Key{Name: "s", TTL: ttl}
			f.update(key, within(func(ctx context.Context) {
				assert.Positive(t, f.direct().PTTL(ctx, lock+"s").Val())
			}, appendText("x")))
			assert.Positive(t, f.direct().PTTL(t.Context(), "s").Val())
			key.TTL = 0
			f.update(key, appendText("y"))
			assert.Positive(t, f.direct().PTTL(t.Context(), "s").Val())
		}
	})
}
