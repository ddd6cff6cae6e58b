// Package paths opens each path to a store in this process and on fake time, for tests
// of what must work on all of them.
package paths

import (
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Path is one way to a store.
type Path struct {
	Name string
	// Open returns the storage, empty, with Stores over it.
	Open func(t testing.TB) rmwtest.Target
}

// All returns the paths: the store in memory, WATCH on a Redis, and the lock and the
// guard behind a Codis proxy over two servers.
func All() []Path {
	return []Path{
		{"memory", func(testing.TB) rmwtest.Target {
			m := rmwtest.NewMemory()
			return rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
		}},
		{"cas", contract.Bench{
			Proxy: proxytest.Config{Profile: proxycompat.Redis(), Engines: 1, InMemory: true},
			Open:  func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
		}.Target},
		{"lockupdate", contract.Bench{
			Proxy: proxytest.Config{Profile: proxycompat.Codis32(), Engines: 2, InMemory: true},
			Open:  func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) },
		}.Target},
	}
}

// Each runs test on every path, in a bubble of fake time.
func Each(t *testing.T, test func(t *testing.T, target rmwtest.Target)) {
	t.Helper()
	for _, path := range All() {
		t.Run(path.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, path.Open(t)) })
		})
	}
}
