// Package goredis6only has a version that takes no context.
package goredis6only

import "github.com/go-redis/redis"

func look(rdb *redis.Client, key string) error {
	return rdb.Watch(func(tx *redis.Tx) error { // want `it is of go-redis v6, which takes no context`
		return nil
	}, key)
}
