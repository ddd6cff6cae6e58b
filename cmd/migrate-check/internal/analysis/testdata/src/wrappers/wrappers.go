// Package wrappers is legacy code over libraries that are made of a client.
package wrappers

import (
	"context"

	"github.com/gogf/gf/v2/database/gredis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

func goZero(ctx context.Context, r *redis.Redis) {
	r.TxPipeline() // want `MULTI and EXEC through \(\*redis\.Redis\)\.TxPipeline.*MC102`
	r.Pipelined(nil)
	r.Hgetall("WATCH")
}

func goFrame(ctx context.Context, r *gredis.Redis) {
	r.Do(ctx, "WATCH", "k") // want `WATCH through .*Do.*MC103`
	conn, _ := r.Conn(ctx)
	conn.Do(ctx, "Multi") // want `MULTI.*MC103`
	conn.Do(ctx, "GET", "WATCH")
	conn.Close(ctx)
}

func adapter(ctx context.Context, c rueidiscompat.Cmdable) {
	c.Watch(ctx, nil, "k")   // want `WATCH.*MC101`
	c.TxPipeline().Exec(ctx) // want `MC102`
	c.Pipeline().Exec(ctx)
}
