// Package broken does not compile.
package broken

import "github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"

var _ = missing

func watch(client *redis.Client) error {
	return client.Watch(func(*redis.Tx) error { return nil }, "k")
}
