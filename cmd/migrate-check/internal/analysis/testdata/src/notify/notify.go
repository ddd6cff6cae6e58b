// Package notify wants to know what happens to keys.
package notify

import (
	"context"
	"fmt"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const events = "__keyevent@"

type bus struct{}

func (bus) PSubscribe(ctx context.Context, topics ...string) {}

func all(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, b bus, db int, key string) {
	rdb.PSubscribe(ctx, "__keyevent@0__:expired")                    // want `^notifications of __keyevent@; each server has its own, and none pass a proxy: poll, or write to a stream \(MC203\)$`
	rdb.Subscribe(ctx, fmt.Sprintf("__keyspace@%d__:%s", db, key))   // want `__keyspace@.*MC203`
	rdb.PSubscribe(ctx, []string{events + "*__:*"}...)               // want `MC203`
	redigo.PubSubConn{Conn: conn}.PSubscribe("__key" + "event@*")    // want `MC203`
	conn.Send("PSUBSCRIBE", "__keyspace@0__:k")                      // want `MC203`
	_ = c.B().Psubscribe().Pattern("__keyevent@*__:expired").Build() // want `MC203`
	rdb.ConfigSet(ctx, "notify-keyspace-events", "Ex")               // want `^notify-keyspace-events is set; .*MC203`
	conn.Do("CONFIG", "SET", "notify-keyspace-events", "KEA")        // want `MC203`

	rdb.Subscribe(ctx, "room:7")
	rdb.Subscribe(ctx, key)
	rdb.Subscribe(ctx, "my__keyevent@")
	rdb.Get(ctx, "__keyevent@0__:expired")
	rdb.ConfigSet(ctx, "maxmemory", "notify-keyspace-events")
	b.PSubscribe(ctx, "__keyevent@0__:expired")
}
