//go:build legacy

package tagged

import "github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"

func watch(rdb *redis.Client) error {
	return rdb.Watch(func(*redis.Tx) error { return nil }, "k")
}

var _ = watch
