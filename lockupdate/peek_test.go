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
	text, hash := rmw.Key{Name: "s", TTL: time.Hour}, rmw.Key{Name: "h", Kind: rmw.KindHash}
	for _, cfg := range []lockupdate.Config{{}, {MasterReads: true}} {
		withFixture(t, cfg, func(t *testing.T, f *fixture) {
			f.warm(text)
			f.update(hash, setField("f", "1"))
			for range 3 { // each server caches the script
				for _, key := range []rmw.Key{text, hash} {
					_, _, err := f.store.Peek(t.Context(), key)
					require.NoError(t, err)
				}
			}
			for key, want := range map[rmw.Key]rmw.Value{
				text: rmw.String("www"), hash: rmw.Hash(map[string]string{"f": "1"}), {Name: "t"}: {},
			} {
				f.settle()
				start := f.meter.Read()
				v, left, err := f.store.Peek(t.Context(), key)
				require.NoError(t, err)
				assert.True(t, v.Equal(want), "%s: %v", key.Name, v)
				switch key.Name {
				case text.Name:
					assert.InDelta(t, time.Hour, left, float64(time.Minute))
				case hash.Name:
					assert.Equal(t, rmw.NoTTL, left)
				default:
					assert.Zero(t, left)
				}
				assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
				assert.Equal(t, []string{"peek"}, f.calls())
			}
		})
	}
}

// Without Lua, Peek reads the expiry between two reads of the value. An absent key needs one read.
func TestPeekBudgetWithoutLua(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s", TTL: time.Hour}
		f.warm(key)
		peek := func(key rmw.Key) (trips int64, requests []string) {
			f.proxy.ResetCalls()
			start := f.meter.Read()
			_, _, err := f.store.Peek(t.Context(), key)
			require.NoError(t, err)
			for _, c := range f.proxy.Calls() {
				require.Len(t, c.Args, 2, "Peek changes neither the value nor its expiry")
				require.Equal(t, key.Name, c.Args[1])
				requests = append(requests, lockupdate.RequestName(c.Args))
			}
			return f.meter.Read().Sub(start).RoundTrips, requests
		}
		trips, requests := peek(key)
		assert.EqualValues(t, 3, trips)
		assert.Equal(t, []string{"read", "inspect", "read"}, requests)
		trips, requests = peek(rmw.Key{Name: "none"})
		assert.EqualValues(t, 1, trips)
		assert.Equal(t, []string{"read"}, requests)

		_, _, err := f.store.Peek(t.Context(), rmw.Key{Name: "h", Kind: rmw.KindHash})
		require.ErrorIs(t, err, rmw.ErrUnsupported)
	})
}

// If the value changes between both reads, Peek retries, and fails with rmw.ErrContended after
// MaxAttempts.
func TestPeekOfAChangingValueWithoutLua(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{MaxAttempts: 5})
		key, rdb, n := rmw.Key{Name: "s"}, f.direct(), 0
		require.NoError(t, rdb.Set(t.Context(), key.Name, "0", 0).Err())
		change := func(times int) (remove func()) {
			return f.proxy.Inject(proxytest.Fault{
				Times: times, Action: proxytest.None,
				Match: func(args []string) bool { return args[0] == "pttl" },
				Do: func() {
					n++
					assert.NoError(t, rdb.Set(context.Background(), key.Name, strconv.Itoa(n), time.Duration(n)*time.Hour).Err())
				},
			})
		}
		remove := change(-1)
		v, left, err := f.store.Peek(t.Context(), key)
		remove()
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.True(t, rmw.Retryable(err))
		assert.False(t, v.Exists())
		assert.Zero(t, left)
		assert.Equal(t, 5, n)

		defer change(4)()
		v, left, err = f.store.Peek(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, "9", v.Text())
		assert.InDelta(t, 9*time.Hour, left, float64(time.Minute))
	})
}

// If the key is created again with the same value between the reads, Peek does not return the old
// expiry.
func TestPeekOfARecreatedKeyWithoutLua(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
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
				return
			}
			assert.NoError(t, rdb.Set(context.Background(), "s", "0", time.Hour).Err())
		}})
		v, left, err := f.store.Peek(t.Context(), rmw.Key{Name: "s"})
		require.NoError(t, err)
		assert.Equal(t, "0", v.Text())
		assert.InDelta(t, time.Hour, left, float64(time.Minute))
		assert.Equal(t, 3, reads)
	})
}

// Peek retries an error reply, and fails on a closed or invalid Store.
func TestPeekFails(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("peek"), Action: proxytest.RefuseWith, Text: "ERR what is this", Times: 2})
		v, _, err := f.store.Peek(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, "www", v.Text())
		f.proxy.Inject(proxytest.Fault{Match: isScript("peek"), Action: proxytest.RefuseWith, Text: "ERR what is this", Times: 3})
		_, _, err = f.store.Peek(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrUnavailable)

		require.NoError(t, f.store.Close())
		f.proxy.ResetCalls()
		_, _, err = f.store.Peek(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = f.store.Read(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrClosed)
		assert.Empty(t, f.calls(), "nothing is sent")
	})
	s := lockupdate.New(nil, lockupdate.Config{})
	_, _, err := s.Peek(t.Context(), rmw.Key{Name: "k"})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.NoError(t, s.Close())
}

// Peek reads the expiry from the master, even if a proxy reads from replicas.
func TestPeekReadsTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Engines: 2, ReplicaLag: time.Minute}, lockupdate.Config{})
		key := rmw.Key{Name: "s", TTL: time.Hour}
		f.update(key, appendText("x"))
		require.EqualValues(t, -2, f.direct().PTTL(t.Context(), "s").Val(), "control: the replica lags")
		v, left, err := f.store.Peek(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, "x", v.Text())
		assert.InDelta(t, time.Hour, left, float64(time.Minute))
	})
}
