// Package keysplit has commands that a proxy splits.
package keysplit

import (
	"context"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func all(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, keys []string, m map[string]any) {
	rdb.MGet(ctx, "a", "b")                                                   // want `^MGET through .*; the proxy makes one command of each key, so it is not atomic \(MC403\)$`
	rdb.Del(ctx, keys...)                                                     // want `DEL.*MC403`
	rdb.Exists(ctx, "a", "b")                                                 // want `EXISTS.*MC403`
	rdb.MSet(ctx, "a", 1, "b", 2)                                             // want `MSET.*MC403`
	rdb.MSet(ctx, map[string]any{"a": 1, "b": 2})                             // want `MSET.*MC403`
	rdb.MSet(ctx, m)                                                          // want `MSET.*MC403`
	conn.Do("DEL", "a", "b")                                                  // want `DEL.*MC403`
	_ = c.B().Mget().Key("a", "b").Build()                                    // want `MGET.*MC403`
	_ = c.B().Mset().KeyValue().KeyValue("a", "1").KeyValue("b", "2").Build() // want `MSET.*MC403`

	rdb.MGet(ctx, "a")
	rdb.Del(ctx, []string{"a"}...)
	rdb.MSet(ctx, "a", 1)
	rdb.MSet(ctx, map[string]any{"a": 1})
	rdb.MSet(ctx, []string{"a", "1"})
	conn.Do("MSET", "a", "b")
	_ = c.B().Mset().KeyValue().KeyValue("a", "1").Build()
}
