// Package arguments is judged by a Codis over servers of Redis 3.2.
package arguments

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

type agent struct{ Name, State string }

func found(ctx context.Context, rdb *goredis.Client, fields map[string]any, a *agent, get bool) {
	rdb.HSet(ctx, "k", "a", 1, "b", 2)                         // want `HSET through .*HSet; more than one field needs Redis 4.0 or later, and the server behind is 3.2; instead: HMSET.*MC401`
	rdb.HSet(ctx, "k", fields)                                 // want `HSET through .*HSet; how many fields it has is not known here, and more than one field needs Redis 4.0.*MC401`
	rdb.HSet(ctx, "k", map[string]any{"a": 1, "b": 2})         // want `HSET.*; more than one field.*MC401`
	rdb.HSet(ctx, "k", []string{"a", "1", "b", "2"})           // want `HSET.*; more than one field.*MC401`
	rdb.HSet(ctx, "k", a)                                      // want `not known here, and more than one field.*MC401`
	rdb.LPopCount(ctx, "k", 2)                                 // want `LPOP.*a count needs Redis 6.2.*MC401`
	rdb.LPushX(ctx, "k", "a", "b")                             // want `LPUSHX.*more than one element needs Redis 4.0.*MC401`
	rdb.ZAddArgs(ctx, "k", goredis.ZAddArgs{GT: true})         // want `ZADD.*GT or LT needs Redis 6.2.*MC401`
	rdb.ZAddGT(ctx, "k", goredis.Z{Member: "m"})               // want `ZADD.*GT or LT needs Redis 6.2.*MC401`
	rdb.ExpireNX(ctx, "k", time.Minute)                        // want `EXPIRE.*NX or XX or GT or LT needs Redis 7.0.*MC401`
	rdb.Set(ctx, "k", "v", goredis.KeepTTL)                    // want `SET.*KEEPTTL needs Redis 6.0.*MC401`
	rdb.SetArgs(ctx, "k", "v", goredis.SetArgs{Get: true})     // want `SET.*GET needs Redis 6.2.*MC401`
	rdb.SetArgs(ctx, "k", "v", goredis.SetArgs{Get: get})      // want `SET.*GET needs Redis 6.2.*MC401`
	rdb.ZRangeArgs(ctx, goredis.ZRangeArgs{Rev: true})         // want `ZRANGE.*REV.*MC401`
	rdb.Do(ctx, "set", "k", "v", "KEEPTTL")                    // want `SET.*KEEPTTL.*MC401`
	rdb.Do(ctx, "HSET", "k", "a", 1, "b", 2)                   // want `HSET.*more than one field.*MC401`
	rdb.XAdd(ctx, &goredis.XAddArgs{NoMkStream: true, ID: ""}) // want `XADD.*MC401`
}

func others(conn redis.Conn, c rueidis.Client) {
	conn.Do("LPOP", "k", 2) // want `LPOP.*a count.*MC401`
	conn.Do("LPOP", "k")
	c.B().Arbitrary("HSET").Args("k", "a", "1").Build()
	c.B().Hset().Key("k").FieldValue().FieldValue("a", "1").FieldValue("b", "2").Build() // want `HSET.*more than one field.*MC401`
	c.B().Hset().Key("k").FieldValue().FieldValue("a", "1").Build()
}

func fine(ctx context.Context, rdb *goredis.Client, values []any) {
	rdb.HSet(ctx, "k", "a", 1)
	rdb.HSet(ctx, "k", map[string]any{"a": 1})
	rdb.HSet(ctx, "k", values...)
	rdb.Set(ctx, "k", "v", time.Minute)
	rdb.SetArgs(ctx, "k", "v", goredis.SetArgs{Mode: "NX", KeepTTL: false})
	rdb.ZAddArgs(ctx, "k", goredis.ZAddArgs{XX: true})
	rdb.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: "k"})
	rdb.LPushX(ctx, "k", "a")
	rdb.Do(ctx, "SET", "k", "v", "PX", 100)
	rdb.Do(ctx, "ZADD", "k", 1, "GT")
}
