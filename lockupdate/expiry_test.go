package lockupdate_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
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
			f.set("mortal", "a", time.Hour)
			f.set("immortal", "a", 0)
			f.set("last moment", "a", time.Minute+time.Millisecond)
			require.NoError(t, operations["update"](t.Context(), f.another(lockupdate.Config{})), "loads the scripts")
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
			assert.Equal(t, 59*time.Minute, f.ttl("mortal"))
			assert.Equal(t, time.Millisecond, f.ttl("last moment"))
			assert.EqualValues(t, -1, f.ttl("immortal"))
			time.Sleep(time.Millisecond)
			assert.Zero(t, rdb.Exists(t.Context(), "last moment").Val())
		})
	}
}

// A retried PTTL does not subtract the time of the first try.
func TestRepeatedExpiryQueryIsAccurate(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		f.warm(rmw.Key{Name: "other"})
		f.set("s", "x", time.Minute+time.Millisecond)
		f.proxy.Inject(proxytest.Fault{
			Match: func(args []string) bool { return args[0] == "pttl" && args[1] == "s" }, Action: proxytest.HangRequest,
		})
		began := time.Now()
		f.update(testKey, appendText("y"))
		assert.InDelta(t, time.Minute-time.Since(began), f.ttl("s"), float64(10*time.Millisecond))
	})
}

// A key that was absent when its expiry was read is not written. Another writer may create it again
// with the same value and a new expiry, which would be lost.
func TestRecreatedKeyIsNotOverwritten(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		rdb := f.direct()
		f.set("s", "0", time.Minute)
		res := f.update(testKey, duringFirstCall(func() {
			require.NoError(t, rdb.Del(t.Context(), "s").Err())
			f.during("read", 0, 1, func() { f.set("s", "0", time.Minute) })
		}, put("1")))
		assert.Equal(t, 2, res.Attempts)
		assert.Positive(t, f.ttl("s"))
	})
}

// On a server without KEEPTTL, each update shortens the expiry by less than half a millisecond, and
// never prolongs it.
func TestKeptExpiryDoesNotDrift(t *testing.T) {
	long.Repeats(t)
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		f.slow(3 * time.Millisecond)
		f.set("s", "x", time.Minute)
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
			assert.InDelta(t, left+time.Since(began)/6, f.ttl("s"), float64(time.Since(began)/4))
			return
		}
		assert.InDelta(t, left-250*time.Millisecond, f.ttl("s"), float64(250*time.Millisecond),
			"want less than %v in milliseconds", left)
	})
}

// Pika before 4 sets no expiry below a second, so a lock with a shorter lease would never expire.
func TestPikaCountsInSeconds(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitVX, Lease: 1300 * time.Millisecond}, func(t *testing.T, f *fixture) {
		for _, ttl := range []time.Duration{time.Millisecond, 1300 * time.Millisecond} {
			key := rmw.Key{Name: "s", TTL: ttl}
			f.update(key, within(func(ctx context.Context) {
				assert.Positive(t, f.ttl(lock+"s"))
			}, appendText("x")))
			assert.Positive(t, f.ttl("s"))
			key.TTL = 0
			f.update(key, appendText("y"))
			assert.Positive(t, f.ttl("s"))
		}
	})
}

func TestPeekBudget(t *testing.T) {
	text := rmw.Key{Name: "s", TTL: time.Hour}
	for _, cfg := range []lockupdate.Config{{}, {MasterReads: true}} {
		withFixture(t, cfg, func(t *testing.T, f *fixture) {
			f.warm(text)
			f.update(hashKey, setField("f", "1"))
			for range 3 { // each server caches the script
				f.peek(text)
				f.peek(hashKey)
			}
			for key, want := range map[rmw.Key]rmw.Value{
				text: rmw.String("www"), hashKey: rmw.Hash(map[string]string{"f": "1"}), {Name: "t"}: {},
			} {
				f.settle()
				assert.EqualValues(t, 1, f.trips(func() { f.peek(key) }))
				assert.Equal(t, []string{"peek"}, f.calls())
				v, left := f.peek(key)
				assert.True(t, v.Equal(want), "%s: %v", key.Name, v)
				assert.InDelta(t, map[rmw.Key]time.Duration{text: time.Hour, hashKey: rmw.NoTTL}[key], left, float64(key.TTL/60))
			}
		})
	}
}

// Without Lua, Peek reads the expiry between two reads of the value. An absent key needs one read.
func TestPeekBudgetWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		key := rmw.Key{Name: "s", TTL: time.Hour}
		f.warm(key)
		for key, want := range map[rmw.Key][]string{key: {"read", "inspect", "read"}, {Name: "none"}: {"read"}} {
			f.proxy.ResetCalls()
			assert.EqualValues(t, len(want), f.trips(func() { f.peek(key) }))
			for _, c := range f.proxy.Calls() {
				require.Equal(t, []string{key.Name}, c.Args[1:], "Peek changes neither the value nor its expiry")
			}
			assert.Equal(t, want, f.requests())
		}
	})
}

// If the value changes between both reads, Peek retries, and fails with rmw.ErrContended after
// MaxAttempts.
func TestPeekOfAChangingValueWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{MaxAttempts: 5}, func(t *testing.T, f *fixture, s nativeStore) {
		f.set("s", "0", 0)
		n := 0
		change := func() {
			n++
			f.set("s", strconv.Itoa(n), time.Duration(n)*time.Hour)
		}
		remove := f.during("inspect", 0, -1, change)
		_, _, err := f.store.Peek(t.Context(), testKey)
		remove()
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, 5, n)

		f.during("inspect", 0, 4, change)
		v, left := f.peek(testKey)
		assert.Equal(t, "9", v.Text())
		assert.InDelta(t, 9*time.Hour, left, float64(time.Minute))
	})
}

// If the key is created again with the same value between the reads, Peek does not return the old
// expiry.
func TestPeekOfARecreatedKeyWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		f.set("s", "0", 0)
		f.during("inspect", 0, 1, func() { assert.NoError(t, f.direct().Del(t.Context(), "s").Err()) })
		f.during("read", 1, 1, func() { f.set("s", "0", time.Hour) })
		f.proxy.ResetCalls()
		v, left := f.peek(testKey)
		assert.Equal(t, "0", v.Text())
		assert.InDelta(t, time.Hour, left, float64(time.Minute))
		reads := slices.DeleteFunc(f.requests(), func(name string) bool { return name != "read" })
		assert.Len(t, reads, 3)
	})
}

// Peek reads the expiry from the master, even if a proxy reads from replicas.
func TestPeekReadsTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Engines: 2, ReplicaLag: time.Minute}, lockupdate.Config{})
		f.update(rmw.Key{Name: "s", TTL: time.Hour}, appendText("x"))
		require.EqualValues(t, -2, f.ttl("s"), "control: the replica lags")
		v, left := f.peek(testKey)
		assert.Equal(t, "x", v.Text())
		assert.InDelta(t, time.Hour, left, float64(time.Minute))
	})
}

// peek must succeed.
func (f *fixture) peek(key rmw.Key) (rmw.Value, time.Duration) {
	f.t.Helper()
	v, left, err := f.store.Peek(f.t.Context(), key)
	require.NoError(f.t, err)
	return v, left
}
