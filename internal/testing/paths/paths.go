// Package paths opens each path to a store in this process with fake time, for tests that must pass on all
// of them.
package paths

import (
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

// Path is one way to a store.
type Path struct {
	Name string
	// Open returns an empty storage with Stores over it.
	Open func(t testing.TB) rmwtest.Target
}

// All returns the paths: the store in memory, WATCH on a Redis, the lock and the guard behind a Codis proxy
// over two servers, a cut-over whose keys move both ways, and WATCH with the lock path as its shadow.
func All() []Path {
	legacy := contract.Bench{
		Proxy: proxytest.Config{Profile: proxycompat.Redis(), Engines: 1, InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
	}
	candidate := contract.Bench{
		Proxy: proxytest.Config{Profile: proxycompat.Codis32(), Engines: 2, InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) },
	}
	return []Path{
		{"memory", func(testing.TB) rmwtest.Target {
			m := rmwtest.NewMemory()
			return rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
		}},
		{"cas", legacy.Target},
		{"lockupdate", candidate.Target},
		{"cutover", func(t testing.TB) rmwtest.Target { return Moving(t, Flips{}) }},
		{"shadow", func(t testing.TB) rmwtest.Target { return shadowed(t, legacy.Target(t), candidate.Target(t)) }},
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

// shadowed serves from one storage and shadows it on another. A finding of the shadow fails the test.
func shadowed(t testing.TB, serving, hidden rmwtest.Target) rmwtest.Target {
	open := serving.Open
	serving.Open = func() rmw.Store {
		s := shadow.New(open(), hidden.Open(), shadow.Config{})
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("shadow: %v", err)
			}
			for _, op := range s.Report().Operations {
				for _, f := range op.Findings {
					if f.Class.Blocks() {
						t.Errorf("shadow: %s/%s: %s found %d of class %s at %q", op.Domain, op.Name, f.Comparator, f.Count, f.Class, f.Path)
					}
				}
			}
		})
		return s
	}
	return serving
}
