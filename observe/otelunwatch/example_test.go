package otelunwatch_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/otelunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A service traces its updates and locks. Here the proxy and the exporter are in memory.
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	defer func() { _ = proxy.Close() }()
	rdb := redis.NewClient(proxy.Options())
	defer func() { _ = rdb.Close() }()
	exporter := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))

	// snippet:new
	telemetry, err := otelunwatch.New(otelunwatch.Config{})
	// endsnippet
	if err != nil {
		panic(err)
	}
	// snippet:use
	locks := lockupdate.New(rdb, lockupdate.Config{
		Observer:     telemetry.Locks("redis"),
		BatchContext: telemetry.Batches("lockupdate"),
	})
	store := rmw.Chain(locks, telemetry.Updates("lockupdate"))
	err = telemetry.Stats("lockupdate", locks)
	// endsnippet
	if err != nil {
		panic(err)
	}
	defer func() { _ = locks.Close() }()

	_, err = store.Update(context.Background(), rmw.Key{Name: "room:7"},
		func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("Ada"), nil })
	spans := exporter.GetSpans() // the last one includes those of its waits and commands
	fmt.Println(spans[len(spans)-1].Name, err)
	// Output: unwatch.update <nil>
}
