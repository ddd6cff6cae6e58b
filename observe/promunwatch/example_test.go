package promunwatch_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/promunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A service measures its updates and locks. Here the proxy is in memory.
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	defer func() { _ = proxy.Close() }()
	rdb := redis.NewClient(proxy.Options())
	defer func() { _ = rdb.Close() }()
	registry := prometheus.NewRegistry() // in production: prometheus.DefaultRegisterer

	// snippet:new
	metrics, err := promunwatch.New(registry, promunwatch.Config{Operations: []string{"room/join"}})
	// endsnippet
	if err != nil {
		panic(err)
	}
	// snippet:locks
	locks := lockupdate.New(rdb, lockupdate.Config{Observer: metrics.Locks("redis")})
	// endsnippet
	// snippet:updates
	store := rmw.Chain(locks, metrics.Updates("lockupdate"))
	// endsnippet
	// snippet:stats
	err = metrics.Stats("lockupdate", locks)
	// endsnippet
	if err != nil {
		panic(err)
	}
	defer func() { _ = locks.Close() }()

	ctx := context.Background()
	fn := func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("Ada"), nil }
	// snippet:operation
	_, err = store.Update(rmw.WithOperation(ctx, "join"), rmw.Key{Name: "room:7", Label: "room"}, fn)
	// endsnippet
	if err != nil {
		panic(err)
	}
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); f.GetName() == "unwatch_update_attempts" && h.GetSampleCount() > 0 {
				for _, l := range m.GetLabel() {
					fmt.Println(l.GetName(), l.GetValue())
				}
				fmt.Println("updates", h.GetSampleCount())
			}
		}
	}
	// Output:
	// operation room/join
	// path lockupdate
	// updates 1
}
