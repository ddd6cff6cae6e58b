// Package keys uses what a proxy does not serve, in all clients.
package keys

import (
	"context"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v3"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const scan = "scan"

func blocking(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, wait time.Duration) {
	rdb.BLPop(ctx, time.Second, "q")                                           // want `^BLPOP through \(redis\.cmdable\)\.BLPop; the proxy refuses it; instead: LPOP and polling \(MC301\)$`
	rdb.BRPop(ctx, 0, "a", "b")                                                // want `BRPOP.*MC301`
	rdb.BRPopLPush(ctx, "a", "b", 0)                                           // want `BRPOPLPUSH.*MC301`
	conn.Do("BLPOP", "q", 1)                                                   // want `BLPOP.*MC301`
	_ = c.B().Blpop().Key("q").Timeout(1).Build()                              // want `BLPOP.*MC301`
	rdb.BLMove(ctx, "a", "b", "LEFT", "RIGHT", 0)                              // want `BLMOVE.*a connection that all clients share.*MC302`
	rdb.Wait(ctx, 1, 0)                                                        // want `WAIT.*the proxy refuses it \(MC302\)`
	rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "0"}})              // want `XREAD.*where it blocks.*MC302`
	rdb.XRead(ctx, &redis.XReadArgs{Streams: nil, Block: wait})                // want `XREAD.*MC302`
	rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Block: time.Second}) // want `XREADGROUP.*MC302`
	rdb.Do(ctx, "XREAD", "BLOCK", 0, "STREAMS", "s", "0")                      // want `XREAD.*MC302`
	_ = c.B().Xread().Block(1).Streams().Key("s").Id("0").Build()              // want `XREAD.*MC302`
	conn.Do("BZPOPMAX", "z", 1)                                                // want `BZPOPMAX.*MC302`

	rdb.XRead(ctx, &redis.XReadArgs{Streams: nil, Block: -1})         // want `XREAD.*the proxy sends it to the wrong server.*MC404`
	rdb.XReadStreams(ctx, "s", "0")                                   // want `XREAD.*MC404`
	rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Block: -1}) // want `XREADGROUP.*MC404`
	_ = c.B().Xread().Streams().Key("s").Id("0").Build()              // want `XREAD.*MC404`
	rdb.LMPop(ctx, "LEFT", 1, "a", "b")                               // want `LMPOP.*MC404`
	rdb.FCall(ctx, "f", []string{"k"})                                // want `FCALL.*MC404`
	rdb.XGroupCreate(ctx, "s", "g", "$")                              // want `XGROUP CREATE.*MC404`
	conn.Do("OURS.THING", "x")                                        // want `OURS\.THING.*the position of its key is unknown.*MC404`
}

func refused(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client) {
	rdb.Keys(ctx, "*")                    // want `^KEYS through .*; the proxy refuses it; instead: SLOTSSCAN slot by slot \(MC401\)$`
	rdb.Scan(ctx, 0, "*", 1)              // want `SCAN.*MC401`
	rdb.ObjectEncoding(ctx, "a")          // want `OBJECT ENCODING.*MC401`
	conn.Do(scan, 0)                      // want `SCAN.*MC401`
	conn.Send("renamenx", "a", "b")       // want `RENAMENX.*MC401`
	_ = c.B().Keys().Pattern("*").Build() // want `KEYS.*MC401`
	radix.Cmd(nil, "KEYS", "*")           // want `KEYS.*MC401`
	list := rdb.Keys                      // want `KEYS.*it is taken as a value here.*MC401`
	list(ctx, "*")
}

func administration(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client) {
	rdb.Time(ctx)                        // want `TIME.*instead: the caller's clock.*MC701`
	rdb.ConfigSet(ctx, "maxmemory", "1") // want `CONFIG SET.*MC701`
	conn.Do("MONITOR")                   // want `MONITOR.*MC701`
	conn.Do("HELLO", 3)                  // want `HELLO.*MC701`
	conn.Do("SENTINEL", "masters")       // only a sentinel executes it
	conn.Do("PUBSUB", "CHANNELS")        // want `PUBSUB CHANNELS.*MC701`
}
