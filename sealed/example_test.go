package sealed_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/sealed"
)

// A service that reads with go-redis, while another one updates two keys together. The hook is one line.
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options())
	defer rdb.Close()
	rdb.AddHook(sealed.NewHook(rdb))

	other := redis.NewClient(proxy.Options())
	defer other.Close()
	store := lockupdate.New(other, lockupdate.Config{})
	defer store.Close()

	ctx := context.Background()
	from, to := rmw.Key{Name: "account:1"}, rmw.Key{Name: "account:2"}
	_, err = rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
		// Both keys are sealed now.
		fmt.Println(rdb.Get(ctx, from.Name).Err())
		tx.Put(from, rmw.String("95"))
		tx.Put(to, rmw.String("5"))
		return nil
	}, from, to)
	fmt.Println(rdb.Get(ctx, from.Name).Val(), err)

	// Output:
	// redis: nil
	// 95 <nil>
}
