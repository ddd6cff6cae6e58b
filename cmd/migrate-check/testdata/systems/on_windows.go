package systems

import "github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"

func watch(client *redis.Client) error {
	return client.Watch(func(*redis.Tx) error { return nil }, "k")
}
