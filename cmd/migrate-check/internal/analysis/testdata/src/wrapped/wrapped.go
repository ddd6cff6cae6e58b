// Package wrapped publishes and subscribes by libraries that are made of a client.
package wrapped

import (
	"context"

	"github.com/gogf/gf/v2/database/gredis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

func all(ctx context.Context, r *redis.Redis, g *gredis.Redis, conn gredis.Conn, c rueidiscompat.Cmdable) {
	r.Publish("c", "m")                    // want `PUBLISH.*MC202`
	r.PublishCtx(ctx, "c", "m")            // want `PUBLISH.*MC202`
	r.Do("PUBLISH", "c", "m")              // want `PUBLISH.*MC202`
	r.DoCtx(ctx, "SUBSCRIBE", "c")         // want `SUBSCRIBE.*MC201`
	conn.Subscribe(ctx, "c")               // want `SUBSCRIBE.*MC201`
	g.GroupPubSub().Publish(ctx, "c", "m") // want `PUBLISH.*MC202`
	c.Publish(ctx, "c", "m")               // want `PUBLISH.*MC202`
}
