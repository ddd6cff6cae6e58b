package redlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Three independent masters, which are played in this process here. One of them
// may fail.
func Example() {
	var servers []*proxytest.Proxy
	var nodes []redlock.Node
	for range 3 {
		server, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
		if err != nil {
			panic(err)
		}
		defer server.Close()
		rdb := redis.NewClient(server.Options()) // of a real one: &redis.Options{Addr: addr}
		defer rdb.Close()
		servers, nodes = append(servers, server), append(nodes, rdb)
	}

	locks, other := redlock.New(nodes, redlock.Config{}), redlock.New(nodes, redlock.Config{})
	defer locks.Close() // before the clients': it waits until all is given back
	defer other.Close()
	servers[1].Down(0)

	ctx := context.Background()
	err := locks.WithLock(ctx, "invoice-run", func(ctx context.Context) error {
		fmt.Println("alone")
		err := other.TryLock(ctx, "invoice-run", func(context.Context) error { return nil })
		fmt.Println("the other:", errors.Is(err, rmw.ErrContended))
		return locks.WithLock(ctx, "invoice-run", func(context.Context) error { // with fn's ctx
			fmt.Println("still alone")
			return nil
		})
	})
	fmt.Println(err)

	// Output:
	// alone
	// the other: true
	// still alone
	// <nil>
}
