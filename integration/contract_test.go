package integration

import (
	"strings"
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

// Both paths over one redis-server.
func TestContractOnRedis(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*redis.Client) rmw.Store{
		"cas": openCAS, "lockupdate": openLock, "lockupdate, RESP3": openMasters,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.Redis(t)
			contract.Bench{
				Proxy: proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{server.Addr}},
				Options: func(relay *proxytest.Proxy) *redis.Options {
					opts := relay.Options()
					if strings.HasSuffix(name, "RESP3") { // because HGETALL has another reply type
						opts.Protocol = 3
					}
					return opts
				},
				Direct: proxycompat.Options(proxycompat.Redis(), server.Addr),
				Open:   open,
			}.Run(t)
		})
	}
}

// The new path through nutcracker. With several connections to a server,
// commands of one client may overtake each other.
func TestContractBehindNutcracker(t *testing.T) {
	t.Parallel()
	for name, connections := range map[string]int{"1 connection": 1, "4 connections": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backends := []string{servers.Redis(t).Addr, servers.Redis(t).Addr}
			nutcracker := servers.Nutcracker(t, backends, connections)
			contract.Bench{
				// A transparent relay in front of the real proxy, for the faults.
				Proxy: proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{nutcracker.Addr}},
				Options: func(relay *proxytest.Proxy) *redis.Options {
					return proxycompat.Options(proxycompat.Twemproxy05(), relay.Addr())
				},
				Direct: proxycompat.Options(proxycompat.Twemproxy05(), nutcracker.Addr),
				Open:   openLock,
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
