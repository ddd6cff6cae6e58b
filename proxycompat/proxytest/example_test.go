package proxytest_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A Codis proxy executes parts of a transaction, and a lost reply leaves the outcome unknown.
func Example() {
	p, err := proxytest.Start(proxytest.Config{Engines: 2})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	rdb := redis.NewClient(p.Options())
	defer rdb.Close()
	ctx := context.Background()

	_, err = rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Incr(ctx, "visits")
		return nil
	})
	fmt.Println("error: ", err)
	fmt.Println("visits:", rdb.Get(ctx, "visits").Val())

	p.Inject(proxytest.Fault{Command: "INCR", Action: proxytest.DropReply})
	fmt.Println("error: ", rdb.Incr(ctx, "visits").Err())
	fmt.Println("visits:", rdb.Get(ctx, "visits").Val())

	// Output:
	// error:  ERR handle request, command 'MULTI' is not allowed
	// visits: 1
	// error:  EOF
	// visits: 2
}
