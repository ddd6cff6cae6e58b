package cas_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var hash = rmw.Key{Name: "h", Kind: rmw.KindHash}

// expireFields lets the fields of hashes expire that have an expiry. WATCH does not notice it, as in Redis 7.4 to 8 until
// the fields are deleted.
func (f *fixture) expireFields() { f.proxy.Engine(0).FastForward(time.Minute) }

// noRight is the reply of a server that has expiries of fields.
const noRight = "NOPERM this user has no permissions to run the 'hpexpiretime' command"

// withFieldExpiry is withFixture on a server with a reply to the command that a Store asks.
func withFieldExpiry(reply string, test func(t *testing.T, f *fixture)) func(t *testing.T) {
	return withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{Command: "HPEXPIRETIME", Times: -1, Action: proxytest.RefuseWith, Text: reply})
		test(t, f)
	})
}

// A field expires while fn runs. The update begins again, whatever it writes.
func TestFieldExpiresDuringFn(t *testing.T) {
	for name, tc := range map[string]struct {
		stored map[string]string // "otp" expires
		ttl    time.Duration
		write  func(cur rmw.Value) rmw.Value
		want   map[string]string
		left   time.Duration // of the key
	}{
		"the field is written": {
			map[string]string{"otp": "1", "n": "1"}, 0,
			func(v rmw.Value) rmw.Value { return v.With("otp", "used") }, map[string]string{"otp": "used", "n": "1"}, time.Hour,
		},
		"another one is written": {
			map[string]string{"otp": "1", "n": "1"}, 0,
			func(v rmw.Value) rmw.Value { return v.With("n", "2") }, map[string]string{"n": "2"}, time.Hour,
		},
		"another one is deleted": {
			map[string]string{"otp": "1", "n": "1", "m": "1"}, time.Minute,
			func(v rmw.Value) rmw.Value { return v.Without("n") }, map[string]string{"m": "1"}, time.Minute,
		},
		"the key is deleted": {
			map[string]string{"otp": "1", "n": "1"}, 0, func(rmw.Value) rmw.Value { return rmw.Value{} }, nil, 0,
		},
		"the only field": {
			map[string]string{"otp": "1"}, 0,
			func(v rmw.Value) rmw.Value { return v.With("n", "2") }, map[string]string{"n": "2"}, 0,
		},
	} {
		t.Run(name, withFieldExpiry(noRight, func(t *testing.T, f *fixture) {
			ctx := t.Context()
			require.NoError(t, f.other.HSet(ctx, hash.Name, tc.stored).Err())
			require.NoError(t, f.other.PExpire(ctx, hash.Name, time.Hour+time.Minute).Err())
			require.NoError(t, f.other.HExpire(ctx, hash.Name, time.Minute, "otp").Err())
			key := hash
			key.TTL = tc.ttl
			var seen []int
			res, err := f.store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if seen = append(seen, cur.Len()); len(seen) == 1 {
					f.expireFields()
				}
				return tc.write(cur), nil
			})
			require.NoError(t, err)
			assert.Equal(t, []int{len(tc.stored), len(tc.stored) - 1}, seen)
			assert.Equal(t, len(tc.stored)-1, res.Before.Len())
			assert.Equal(t, len(tc.want), len(f.other.HGetAll(ctx, hash.Name).Val()))
			for field, value := range tc.want {
				assert.Equal(t, value, f.other.HGet(ctx, hash.Name, field).Val())
			}
			assert.Equal(t, tc.left, max(0, f.other.PTTL(ctx, hash.Name).Val()).Round(time.Second)) // miniredis rounds down
		}))
	}
}

// A Store asks once whether fields expire. It needs no script where they do not.
func TestFieldExpiryIsAskedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		write string
	}{
		"unknown command": {"ERR unknown command 'hpexpiretime'", "HMSET"},
		"not permitted":   {noRight, "EVAL"},
	} {
		t.Run(name, withFieldExpiry(tc.reply, func(t *testing.T, f *fixture) {
			f.warm()
			for _, text := range []string{"1", "2"} {
				_, err := f.store.Update(t.Context(), hash, set(rmw.Hash(map[string]string{"f": text})))
				require.NoError(t, err)
				synctest.Wait()
			}
			assert.Equal(t, []string{
				"WATCH", "HGETALL", "HPEXPIRETIME", "MULTI", tc.write, "EXEC",
				"WATCH", "HGETALL", "MULTI", tc.write, "EXEC",
			}, f.commands())
		}))
	}
}
