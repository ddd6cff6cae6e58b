//go:build legacy

package tagged

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func watch(ctx context.Context, rdb *redis.Client) error {
	return rdb.Watch(ctx, func(*redis.Tx) error { return nil }, "k")
}

var _ = watch
