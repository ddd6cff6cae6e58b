package lockupdate_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

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
				start := f.meter.Read()
				v, left := f.peek(key)
				assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
				assert.Equal(t, []string{"peek"}, f.calls())
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
			start := f.meter.Read()
			f.peek(key)
			assert.EqualValues(t, len(want), f.meter.Read().Sub(start).RoundTrips)
			var requests []string
			for _, c := range f.proxy.Calls() {
				require.Len(t, c.Args, 2, "Peek changes neither the value nor its expiry")
				require.Equal(t, key.Name, c.Args[1])
				requests = append(requests, lockupdate.RequestName(c.Args))
			}
			assert.Equal(t, want, requests)
		}
	})
}

// If the value changes between both reads, Peek retries, and fails with rmw.ErrContended after
// MaxAttempts.
func TestPeekOfAChangingValueWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{MaxAttempts: 5}, func(t *testing.T, f *fixture, s nativeStore) {
		rdb, n := f.direct(), 0
		require.NoError(t, rdb.Set(t.Context(), "s", "0", 0).Err())
		change := func(times int) (remove func()) {
			return f.proxy.Inject(proxytest.Fault{
				Times: times, Action: proxytest.None,
				Match: func(args []string) bool { return args[0] == "pttl" },
				Do: func() {
					n++
					assert.NoError(t, rdb.Set(context.Background(), "s", strconv.Itoa(n), time.Duration(n)*time.Hour).Err())
				},
			})
		}
		remove := change(-1)
		_, _, err := f.store.Peek(t.Context(), testKey)
		remove()
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, 5, n)

		defer change(4)()
		v, left := f.peek(testKey)
		assert.Equal(t, "9", v.Text())
		assert.InDelta(t, 9*time.Hour, left, float64(time.Minute))
	})
}

// If the key is created again with the same value between the reads, Peek does not return the old
// expiry.
func TestPeekOfARecreatedKeyWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "0", 0).Err())
		reads := 0
		f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.None, Match: func(args []string) bool {
			if isRequest("read")(args) {
				reads++
			}
			return reads == 1 && args[0] == "pttl" || reads == 2 && isRequest("read")(args)
		}, Do: func() {
			if reads == 1 {
				assert.NoError(t, rdb.Del(context.Background(), "s").Err())
			} else {
				assert.NoError(t, rdb.Set(context.Background(), "s", "0", time.Hour).Err())
			}
		}})
		v, left := f.peek(testKey)
		assert.Equal(t, "0", v.Text())
		assert.InDelta(t, time.Hour, left, float64(time.Minute))
		assert.Equal(t, 3, reads)
	})
}

// Peek reads the expiry from the master, even if a proxy reads from replicas.
func TestPeekReadsTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Engines: 2, ReplicaLag: time.Minute}, lockupdate.Config{})
		f.update(rmw.Key{Name: "s", TTL: time.Hour}, appendText("x"))
		require.EqualValues(t, -2, f.direct().PTTL(t.Context(), "s").Val(), "control: the replica lags")
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
