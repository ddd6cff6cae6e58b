package integration

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// All expiries that Unwatch sets go on while the server restarts from its log, and on a new replica. Redis
// before 5 writes a script itself to both, unless the script calls redis.replicate_commands.
func TestExpiriesOutliveARestart(t *testing.T) {
	t.Parallel()
	const long = 100 * time.Second
	server := servers.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	rdb, ctx := client(t, server.Addr), t.Context()
	locks := lockupdate.New(rdb, lockupdate.Config{Lease: long})
	watches := cas.New(rdb, cas.Config{})
	t.Cleanup(func() {
		assert.NoError(t, watches.Close())
		assert.NoError(t, locks.Close())
	})
	written := []string{"/lock/section", "/fence/lock/section"}
	for path, store := range map[string]rmw.Store{"lockupdate": locks, "cas": watches} {
		for kind, value := range map[rmw.Kind]rmw.Value{
			rmw.KindString: rmw.String("v"), rmw.KindHash: rmw.Hash(map[string]string{"f": "v"}),
		} {
			kept := rmw.Key{Name: path + " " + kind.String() + " kept", Kind: kind}
			set := rmw.Key{Name: path + " " + kind.String(), Kind: kind, TTL: long}
			keepIt := kept
			kept.TTL = long
			for _, key := range []rmw.Key{set, kept, keepIt} {
				_, err := store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					if cur.Exists() && kind == rmw.KindString {
						return rmw.String("kept"), nil
					} else if cur.Exists() {
						return cur.With("f", "kept"), nil
					}
					return value, nil
				})
				require.NoError(t, err)
			}
			written = append(written, set.Name, kept.Name)
		}
	}
	// Renewals come late in a lease.
	require.NoError(t, rdb.HSet(ctx, "renewed", "owner", 1).Err())
	require.NoError(t, rdb.Set(ctx, "redlock", "owner", 0).Err())
	for key, file := range map[string]string{
		"renewed": "../lockupdate/internal/driver/lua/renew.lua", "redlock": "../lockupdate/redlock/lua/renew.lua",
	} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, rdb.Eval(ctx, string(source), []string{key}, "owner", long.Milliseconds()).Err())
		written = append(written, key)
	}
	require.NoError(t, locks.WithLock(ctx, "section", func(ctx context.Context) error {
		_, err := lock.Token(ctx)
		require.NoError(t, err)
		left := expiries(t, rdb, written)
		require.Eventually(t, func() bool {
			now := expiries(t, rdb, written)
			passed := left["cas string"]-now["cas string"] > 300*time.Millisecond
			if passed {
				left = now
			}
			return passed
		}, time.Minute, 50*time.Millisecond)

		replica := client(t, servers.Redis(t).Addr)
		require.NoError(t, replica.ReplicaOf(ctx, "127.0.0.1", strings.TrimPrefix(server.Addr, "127.0.0.1:")).Err())
		arrived := func() bool { return replica.Exists(ctx, written...).Val() == int64(len(written)) }
		require.Eventually(t, arrived, time.Minute, 10*time.Millisecond)
		assert.Empty(t, grown(left, expiries(t, replica, written)), "on a new replica")

		require.NoError(t, server.Kill())
		require.NoError(t, server.Restart(ctx))
		again := client(t, server.Addr)
		assert.Empty(t, grown(left, expiries(t, again, written)), "after a restart")

		// Negative control: an expiry that starts anew.
		require.NoError(t, again.PExpire(ctx, "cas string", long).Err())
		assert.Equal(t, []string{"cas string"}, grown(left, expiries(t, again, written)))
		return nil
	}))
}

func expiries(t *testing.T, rdb *redis.Client, names []string) map[string]time.Duration {
	t.Helper()
	left := map[string]time.Duration{}
	for _, name := range names {
		ttl, err := rdb.PTTL(t.Context(), name).Result()
		require.NoError(t, err)
		require.Positive(t, ttl, name)
		left[name] = ttl
	}
	return left
}

// grown returns the names with more time left now than before.
func grown(before, now map[string]time.Duration) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(name string) bool { return now[name] <= before[name] })
}
