package integration

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func openCAS(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) }

func openMasters(rdb *redis.Client) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{MasterReads: true})
}

func openLock(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) }

// The contract over real servers and a real proxy, behind a transparent relay for the faults.
func TestContract(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open func(*redis.Client) rmw.Store
		// connections of nutcracker to a server; 0: no proxy. With several, commands of one client may overtake each other.
		connections int
		protocol    int
	}{
		"cas":                       {openCAS, 0, 2},
		"lockupdate":                {openLock, 0, 2},
		"lockupdate, RESP3":         {openMasters, 0, 3}, // HGETALL has another reply type
		"nutcracker, 1 connection":  {openLock, 1, 2},
		"nutcracker, 4 connections": {openLock, 4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile, addr := proxycompat.Redis(), servers.Redis(t).Addr
			if tc.connections > 0 {
				profile = proxycompat.Twemproxy05()
				addr = servers.Nutcracker(t, []string{addr, servers.Redis(t).Addr}, tc.connections).Addr
			}
			contract.Bench{
				Proxy: proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{addr}},
				Options: func(relay *proxytest.Proxy) *redis.Options {
					opts := relay.Options()
					if tc.connections > 0 {
						opts = proxycompat.Options(profile, relay.Addr())
					}
					opts.Protocol = tc.protocol
					return opts
				},
				Direct: proxycompat.Options(profile, addr),
				Open:   tc.open,
			}.Run(t)
		})
	}
}

// The new path through the in-process Codis over real servers: the real Lua, and
// a script cache per server.
func TestContractOnCodisOverRedis(t *testing.T) {
	t.Parallel()
	contract.Bench{
		Proxy: proxytest.Config{
			Profile:  proxycompat.Codis32(),
			Backends: []string{servers.Redis(t).Addr, servers.Redis(t).Addr},
		},
		Open: openLock,
	}.Run(t)
}
