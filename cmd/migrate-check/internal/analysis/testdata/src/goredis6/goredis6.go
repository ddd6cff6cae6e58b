// Package goredis6 is legacy code over go-redis v6, where a pipeline of a Tx is a transaction.
package goredis6

import "github.com/go-redis/redis"

func typed(rdb *redis.Client) error {
	return rdb.Watch(func(tx *redis.Tx) error { // want `MC101`
		tx.Pipeline()                                                      // want `MC102`
		_, err := tx.Pipelined(func(redis.Pipeliner) error { return nil }) // want `MC102`
		rdb.Do("MULTI")                                                    // want `MC103`
		return err
	}, "k")
}
