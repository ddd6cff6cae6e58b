package integration

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The stores without Lua, over real servers: the servers execute the missing commands as scripts,
// atomically.
func TestContractWithoutLua(t *testing.T) {
	t.Parallel()
	for store, commit := range map[proxytest.Store]lockupdate.Commit{
		proxytest.Redis84: lockupdate.CommitIFEQ,
		proxytest.Pika:    lockupdate.CommitVX,
	} {
		t.Run(store.String(), func(t *testing.T) {
			t.Parallel()
			b := contract.Bench{
				Proxy: proxytest.Config{
					Profile:  proxycompat.Codis32(),
					Backends: []string{servers.Redis(t).Addr, servers.Redis(t).Addr},
					Store:    store,
				},
				Open: func(rdb *redis.Client) rmw.Store {
					return lockupdate.New(rdb, lockupdate.Config{Commit: commit})
				},
				Kinds: []rmw.Kind{rmw.KindString},
			}
			if store == proxytest.Pika {
				b.ExpiryUnit = time.Second
			}
			b.Run(t)
		})
	}
}

// A real server with Lua is recognized; one with an ACL that forbids scripts, and without compare-and-set,
// is unusable.
func TestProbe(t *testing.T) {
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	got, err := lockupdate.Probe(t.Context(), admin)
	require.NoError(t, err)
	assert.Equal(t, lockupdate.CommitGuarded, got)
	assert.Zero(t, admin.DBSize(t.Context()).Val(), "it leaves nothing behind")

	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "plain", "reset", "on", ">secret", "~*", "+@all", "-@scripting").Err())
	opts := proxycompat.Options(proxycompat.Redis(), server.Addr)
	opts.Username, opts.Password = "plain", "secret"
	rdb := redis.NewClient(opts)
	defer func() { assert.NoError(t, rdb.Close()) }()
	_, err = lockupdate.Probe(t.Context(), rdb)
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	t.Log(err)
}
