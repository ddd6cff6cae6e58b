package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// A user who may do what Vocabulary lists, and nothing else, can do everything; one
// who lacks a command is told so, and leaves no lock behind.
func TestMinimalACL(t *testing.T) {
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	sent, called := lockupdate.Config{}.Vocabulary()
	setUser := func(name string, commands ...string) *redis.Client {
		rules := []any{"acl", "setuser", name, "reset", "on", ">secret", "~*", "-@all"}
		for _, command := range commands {
			rules = append(rules, "+"+strings.ToLower(command))
		}
		require.NoError(t, admin.Do(t.Context(), rules...).Err())
		opts := proxycompat.Options(proxycompat.Redis(), server.Addr)
		opts.Username, opts.Password = name, "secret"
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		return rdb
	}
	all := append(append([]string{}, sent...), called...)
	keys := []rmw.Key{
		{Name: "text"}, {Name: "text", TTL: time.Hour}, {Name: "text", TTL: rmw.NoTTL},
		{Name: "hash", Kind: rmw.KindHash}, {Name: "hash", Kind: rmw.KindHash, TTL: time.Hour}, {Name: "hash", Kind: rmw.KindHash, TTL: rmw.NoTTL},
	}
	use := func(rdb *redis.Client) (failed error) {
		store := lockupdate.New(rdb, lockupdate.Config{Lease: 50 * time.Millisecond})
		for _, key := range keys {
			for _, step := range []string{"create", "change", "delete"} {
				renewed := time.After(40 * time.Millisecond) // past half the lease
				_, err := store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					<-renewed
					switch {
					case step == "delete":
						return rmw.Value{}, nil
					case key.Kind == rmw.KindHash:
						return cur.With(step, "x").Without("create"), nil
					}
					return rmw.String(step), nil
				})
				if err != nil {
					failed = err
				}
				if _, _, err = store.Peek(t.Context(), key); err != nil {
					failed = err
				}
			}
		}
		assert.NoError(t, store.Close())
		return failed
	}
	require.NoError(t, use(setUser("minimal", all...)))

	for _, missing := range []string{"evalsha", "type", "hset", "pexpire", "set", "get"} {
		var rest []string
		for _, command := range all {
			if !strings.EqualFold(command, missing) {
				rest = append(rest, command)
			}
		}
		err := use(setUser("lacks-"+missing, rest...))
		assert.Error(t, err, missing)
		t.Logf("without %s: %v", missing, err)
		locks, _, scanErr := admin.Scan(t.Context(), 0, "/lock/*", 1000).Result()
		require.NoError(t, scanErr)
		for _, lock := range locks {
			assert.NotEqual(t, time.Duration(-1), admin.PTTL(t.Context(), lock).Val(), "without %s the lock %s is left for ever", missing, lock)
		}
	}
}
