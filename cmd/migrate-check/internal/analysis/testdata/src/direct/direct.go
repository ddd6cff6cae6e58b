// Package direct has no proxy in front.
package direct

import (
	"context"
	_ "embed"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

func all(ctx context.Context, rdb *redis.Client, conn redigo.Conn, keys []string, sha string) {
	redis.NewClient(&redis.Options{ClientName: "x", DB: 3})
	redis.NewClusterClient(nil)
	rdb.Keys(ctx, "*")
	rdb.BLPop(ctx, 0, "a", "b")
	rdb.SInter(ctx, "a", "b")
	rdb.XRead(ctx, &redis.XReadArgs{Streams: keys})
	rdb.Time(ctx)
	rdb.FlushAll(ctx)
	rdb.Do(ctx, "OURS.THING", "x")
	rdb.EvalSha(ctx, sha, keys)
	rdb.Eval(ctx, `return redis.call("PUBLISH", "a", "b")`, nil)
	rdb.ScriptLoad(ctx, "return 1")
	conn.Do("SELECT", 3)
	rdb.PSubscribe(ctx, "__keyevent@0__:expired")
	rdb.Get(ctx, "{}a")
	rdb.Get(ctx, "{t}"+sha)
}
