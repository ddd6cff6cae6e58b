package directive_test

import (
	"context"

	"github.com/redis/go-redis/v9"
)

var (
	_ = announce
	_ = withdraw
)

// snippet:ignore
func announce(ctx context.Context, rdb *redis.Client) error {
	return rdb.Publish(ctx, "news", "hello").Err() //migratecheck:ignore MC202 a Redis of its own, not behind the proxy
}

func withdraw(ctx context.Context, rdb *redis.Client) error {
	//migratecheck:ignore MC202 until it polls until 2099-12-31
	return rdb.Publish(ctx, "news", "bye").Err()
}

// endsnippet
