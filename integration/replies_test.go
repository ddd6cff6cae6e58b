package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// refusing is a state of a server in which it refuses a write.
type refusing struct {
	name   string
	reason error
	begin  func(t *testing.T, admin *redis.Client, dir string)
	end    func(t *testing.T, admin *redis.Client)
	user   bool // the refused client is the user "u", who may do nearly everything
}

func config(name, value string) func(*testing.T, *redis.Client) {
	return func(t *testing.T, admin *redis.Client) {
		t.Helper()
		require.NoError(t, admin.ConfigSet(t.Context(), name, value).Err())
	}
}

func refusedWrites(primary string) []refusing {
	host, port, _ := splitAddr(primary)
	set := func(name, value string) func(*testing.T, *redis.Client, string) {
		return func(t *testing.T, admin *redis.Client, _ string) { config(name, value)(t, admin) }
	}
	rights := func(rules ...any) func(*testing.T, *redis.Client, string) {
		return func(t *testing.T, admin *redis.Client, _ string) {
			require.NoError(t, admin.Do(t.Context(), append([]any{"acl", "setuser", "u"}, rules...)...).Err())
		}
	}
	whole := func(t *testing.T, admin *redis.Client) { rights("+@all")(t, admin, "") }
	alone := func(t *testing.T, admin *redis.Client) {
		require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
	}
	return []refusing{
		{"READONLY", rmw.ErrUnavailable, func(t *testing.T, admin *redis.Client, _ string) {
			require.NoError(t, admin.ReplicaOf(t.Context(), host, port).Err())
		}, alone, false},
		{"MASTERDOWN", rmw.ErrUnavailable, func(t *testing.T, admin *redis.Client, _ string) {
			config("replica-serve-stale-data", "no")(t, admin)
			require.NoError(t, admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		}, alone, false},
		{"OOM", rmw.ErrUnavailable, set("maxmemory", "1"), config("maxmemory", "0"), false},
		{"NOREPLICAS", rmw.ErrUnavailable, set("min-replicas-to-write", "1"), config("min-replicas-to-write", "0"), false},
		{"MISCONF", rmw.ErrUnavailable, func(t *testing.T, admin *redis.Client, dir string) {
			config("save", "3600 1000000")(t, admin)
			require.NoError(t, os.RemoveAll(dir))
			for !strings.Contains(admin.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err") {
				require.NoError(t, t.Context().Err())
				_ = admin.BgSave(t.Context()).Err() // its child fails; or one is in progress
			}
		}, config("save", ""), false},
		{"NOPERM of the write", rmw.ErrUnsupported, rights("-set", "-hset", "-hmset", "-del"), whole, true},
		{"NOPERM of EVAL and EXEC", rmw.ErrUnsupported, rights("-eval", "-evalsha", "-exec"), whole, true},
		{"NOPERM of a read in the script", rmw.ErrUnsupported, rights("-pttl", "-type", "-hmget", "-hset", "-hmset", "-set"), whole, true},
	}
}

func splitAddr(addr string) (host, port string, err error) {
	for i := len(addr) - 1; i >= 0; i-- {
		if addr[i] == ':' {
			return addr[:i], addr[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("no port in %q", addr)
}

// A server refuses the commit, in any way that proves that nothing was written. No update has an unknown outcome, and
// nothing was written.
func TestRefusedCommitsAreNotUnknown(t *testing.T) {
	other := servers.Redis(t)
	for _, state := range refusedWrites(other.Addr) {
		for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
			t.Run(fmt.Sprintf("%s,%v", state.name, kind), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				require.NoError(t, os.Mkdir(dir, 0o700))
				s := servers.Redis(t, "--dir", dir)
				admin := redis.NewClient(&redis.Options{Addr: s.Addr})
				defer admin.Close()
				require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "u", "on", ">p", "~*", "&*", "+@all").Err())
				opts := proxycompat.Options(proxycompat.Redis(), s.Addr)
				if state.user {
					opts.Username, opts.Password = "u", "p"
				}
				rdb := redis.NewClient(opts)
				defer rdb.Close()
				direct := lockupdate.New(rdb, lockupdate.Config{MaxOutage: -1})
				onDemand := lockupdate.New(rdb, lockupdate.Config{MaxOutage: -1, LockOnDemand: true})
				watch := cas.New(rdb, cas.Config{MaxAttempts: 1})
				for name, store := range map[string]closer{"lockupdate": direct, "on demand": onDemand, "cas": watch} {
					key := rmw.Key{Name: "k:" + name, Kind: kind}
					was := rmw.String("was")
					if kind == rmw.KindHash {
						was = rmw.Hash(map[string]string{"f": "was"})
					}
					write := func(v rmw.Value, before func()) error {
						_, err := store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
							before()
							return v, nil
						})
						return err
					}
					require.NoError(t, write(was, func() {}), name)
					next := rmw.String("next")
					if kind == rmw.KindHash {
						next = rmw.Hash(map[string]string{"f": "next", "g": "too"})
					}
					require.NoError(t, os.MkdirAll(dir, 0o700))
					err := write(next, func() { state.begin(t, admin, dir) })
					require.NoError(t, os.MkdirAll(dir, 0o700))
					state.end(t, admin)
					require.Error(t, err, name)
					t.Log(name, err)
					assert.NotErrorIs(t, err, rmw.ErrOutcomeUnknown, name)
					assert.ErrorIs(t, err, state.reason, name)
					got, err := store.Read(t.Context(), key)
					require.NoError(t, err)
					if state.name != "READONLY" { // a replica has the data of its primary
						assert.Equal(t, was, got.WithTTL(0), name)
					}
				}
				_ = errors.Join(direct.Close(), onDemand.Close(), watch.Close())
			})
		}
	}
}

// A server that is full when the commit needs a new connection.
func TestFullServerIsNoUnknownOutcome(t *testing.T) {
	s := servers.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer admin.Close()
	// Each command needs a new connection.
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, ConnMaxLifetime: time.Nanosecond, PipelinePoolSize: -1})
	defer rdb.Close()
	store := lockupdate.New(rdb, lockupdate.Config{MaxOutage: -1})
	defer store.Close()
	key := rmw.Key{Name: "k"}
	_, err := store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
		require.NoError(t, admin.ConfigSet(t.Context(), "maxclients", "1").Err())
		return rmw.String("x"), nil
	})
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxclients", "1000").Err())
	require.EqualValues(t, 0, admin.Exists(t.Context(), "k").Val())
}

// The texts of the installed server, each with its meaning.
func TestRepliesOfTheServer(t *testing.T) {
	s := servers.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2})
	defer admin.Close()
	ctx := t.Context()
	require.NoError(t, admin.Set(ctx, "s", "x", 0).Err())
	for _, tc := range []struct {
		args  []any
		means resp.Meaning
	}{
		{[]any{"hget", "s", "f"}, resp.WrongType},
		{[]any{"evalsha", "0000000000000000000000000000000000000000", 0}, resp.NoScript},
		{[]any{"nosuch"}, resp.Refused},
		{[]any{"set", "s"}, resp.Misused},
		{[]any{"set", "s", "x", "nosuch"}, resp.Misused},
		{[]any{"auth", "wrong"}, resp.Password},
		{[]any{"auth", "nobody", "wrong"}, resp.Password},
		{[]any{"select", 99}, resp.Misused},
		{[]any{"eval", "return redis.pcall('NOSUCH', KEYS[1])", 1, "s"}, resp.Refused},
		{[]any{"eval", "return redis.pcall('HGET', KEYS[1], 'f')", 1, "s"}, resp.WrongType},
		// These prove nothing: the script may have written.
		{[]any{"eval", "return redis.call('HGET', KEYS[1], 'f')", 1, "s"}, resp.Unclear},
		{[]any{"eval", "return redis.call('NOSUCH', KEYS[1])", 1, "s"}, resp.Unclear},
		{[]any{"eval", "redis.call('SET', KEYS[1], 'x'); return redis.call('HSET', KEYS[1], 'f', 'x')", 1, "s"}, resp.Unclear},
		{[]any{"eval", "error('boom')", 0}, resp.Unclear},
	} {
		err := admin.Do(ctx, tc.args...).Err()
		require.Error(t, err, "%v", tc.args)
		assert.Equal(t, tc.means, redisx.MeaningOf(err), "%v: %v", tc.args, err)
	}
}

// A user who may WATCH and SET, but not MULTI: the server executes the SET by itself.
func TestMultiThatIsRefusedAlone(t *testing.T) {
	s := servers.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer admin.Close()
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "u", "on", ">p", "~*", "&*", "+@all", "-multi").Err())
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "u", Password: "p"})
	defer rdb.Close()
	store := cas.New(rdb, cas.Config{})
	defer store.Close()
	_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.String("x"), nil
	})
	require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	assert.Equal(t, "x", admin.Get(t.Context(), "k").Val())
}

// Control: a commit whose second write is refused has written, so its outcome is unknown.
func TestLaterWriteThatIsRefusedIsUnknown(t *testing.T) {
	s := servers.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer admin.Close()
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "u", "on", ">p", "~*", "&*", "+@all", "-pexpire").Err())
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "u", Password: "p"})
	defer rdb.Close()
	store := lockupdate.New(rdb, lockupdate.Config{LockOnDemand: true})
	defer store.Close()
	key := rmw.Key{Name: "h", Kind: rmw.KindHash, TTL: time.Minute}
	_, err := store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Hash(map[string]string{"f": "x"}), nil
	})
	require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	assert.Equal(t, "x", admin.HGet(t.Context(), "h", "f").Val())
}
