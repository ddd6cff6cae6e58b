// Package twemproxy is judged by twemproxy, which closes connections.
package twemproxy

import (
	"context"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

func all(ctx context.Context, rdb *redis.Client, conn redigo.Conn, id string) {
	rdb.Keys(ctx, "*")                           // want `KEYS.*the proxy closes the connection.*MC401`
	rdb.BLPop(ctx, 0, "a")                       // want `BLPOP.*the proxy closes the connection.*MC301`
	rdb.BLMove(ctx, "a", "b", "LEFT", "LEFT", 0) // want `BLMOVE.*the proxy closes the connection.*MC302`
	rdb.Time(ctx)                                // want `TIME.*the proxy closes the connection.*MC701`
	rdb.SInter(ctx, "{t}a", "{t}b")              // want `keys "{t}a" and "{t}b" are different, and no hash tag is configured.*MC402`
	rdb.Unlink(ctx, "a", "b")                    // twemproxy splits it
	rdb.Get(ctx, "{}"+id)                        // no tag is configured, so there is none to be mistaken
}
