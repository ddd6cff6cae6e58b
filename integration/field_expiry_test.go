package integration

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/rmw"
)

// Redis since 7.4 has expiries of the fields of a hash. Until it deletes an expired field, no read shows it, but WATCH,
// HLEN and EXISTS do not notice.
func TestFieldsExpireDuringFn(t *testing.T) {
	t.Parallel()
	rdb, ctx := client(t, servers.Redis(t, "--enable-debug-command", "yes").Addr), t.Context()
	needFieldExpiries(t, rdb)
	require.NoError(t, rdb.Do(ctx, "DEBUG", "SET-ACTIVE-EXPIRE", 0).Err())
	large := strings.Repeat("x", 8<<10) // lockupdate sends no unread fields of a large hash
	for path, open := range map[string]func(*redis.Client) rmw.Store{"lockupdate": openLock, "cas": openCAS} {
		store := open(rdb)
		t.Cleanup(func() { require.NoError(t, store.(io.Closer).Close()) })
		for name, tc := range map[string]struct {
			stored map[string]string
			expire []string // these fields, before fn runs or while it does
			before bool
			write  func(cur rmw.Value) rmw.Value
			calls  int
			want   map[string]string
			left   bool // the key keeps its expiry
		}{
			"the field is written": {
				map[string]string{"otp": "1", "n": "1"}, []string{"otp"}, false,
				func(v rmw.Value) rmw.Value { return v.With("otp", "used "+field(v, "otp")) },
				2, map[string]string{"otp": "used ", "n": "1"}, true,
			},
			"the field decides": {
				map[string]string{"otp": "1", "n": "1"}, []string{"otp"}, false,
				func(v rmw.Value) rmw.Value { return v.With("n", "otp was "+field(v, "otp")) },
				2, map[string]string{"n": "otp was "}, true,
			},
			"the only field": {
				map[string]string{"otp": "1"}, []string{"otp"}, false,
				func(v rmw.Value) rmw.Value { return v.With("n", "otp was "+field(v, "otp")) },
				2, map[string]string{"n": "otp was "}, false,
			},
			"the rest of a large hash, as fn deletes all that it reads": {
				map[string]string{"n": "1", "rest": large}, []string{"rest"}, false,
				func(v rmw.Value) rmw.Value { return v.Without("n") },
				2, map[string]string{}, false,
			},
			"all fields have expired before": {
				map[string]string{"otp": "1"}, []string{"otp"}, true,
				func(rmw.Value) rmw.Value { return rmw.Hash(map[string]string{"n": "1"}) },
				1, map[string]string{"n": "1"}, false,
			},
		} {
			t.Run(path+", "+name, func(t *testing.T) {
				key := rmw.Key{Name: t.Name(), Kind: rmw.KindHash}
				_, err := store.Read(ctx, key)
				require.NoError(t, err)
				require.NoError(t, rdb.HSet(ctx, key.Name, tc.stored).Err())
				require.NoError(t, rdb.Expire(ctx, key.Name, time.Hour).Err())
				require.NoError(t, rdb.HPExpire(ctx, key.Name, 100*time.Millisecond, tc.expire...).Err())
				expired := func() {
					require.Eventually(t, func() bool {
						return !slices.Contains(rdb.HKeys(ctx, key.Name).Val(), tc.expire[0]) // HKEYS deletes nothing
					}, time.Minute, time.Millisecond)
				}
				if tc.before {
					expired()
				}
				calls := 0
				_, err = store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					if calls++; calls == 1 && !tc.before {
						expired()
					}
					return tc.write(cur), nil
				})
				require.NoError(t, err)
				assert.Equal(t, tc.calls, calls)
				assert.Equal(t, tc.want, rdb.HGetAll(ctx, key.Name).Val())
				assert.Equal(t, tc.left, rdb.PTTL(ctx, key.Name).Val() > 0, "the expiry of the key")
			})
		}
	}
}

func needFieldExpiries(t *testing.T, rdb *redis.Client) {
	t.Helper()
	if err := rdb.HPTTL(t.Context(), "none", "f").Err(); redis.HasErrorPrefix(err, "unknown command") {
		t.Skip("expiries of fields need Redis 7.4")
	}
}

func field(v rmw.Value, name string) string {
	text, _ := v.Field(name)
	return text
}

// A field that an update changes loses its own expiry, as by HSET. The others keep theirs. Both paths do the same.
func TestFieldsKeepTheirExpiry(t *testing.T) {
	t.Parallel()
	rdb, ctx := client(t, servers.Redis(t).Addr), t.Context()
	needFieldExpiries(t, rdb)
	for path, open := range map[string]func(*redis.Client) rmw.Store{"lockupdate": openLock, "cas": openCAS} {
		store := open(rdb)
		t.Cleanup(func() { require.NoError(t, store.(io.Closer).Close()) })
		key := rmw.Key{Name: path, Kind: rmw.KindHash}
		require.NoError(t, rdb.HSet(ctx, path, "a", 1, "b", 1).Err())
		require.NoError(t, rdb.HExpire(ctx, path, time.Hour, "a", "b").Err())
		_, err := store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur.With("a", "2").With("b", "1"), nil
		})
		require.NoError(t, err)
		left := rdb.HTTL(ctx, path, "a", "b").Val()
		assert.EqualValues(t, -1, left[0], path)
		assert.Positive(t, left[1], path)
	}
}
