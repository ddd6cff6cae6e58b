// Package redigo is legacy code over redigo.
package redigo

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
)

const multi = "MULTI"

type pooled struct{ redis.Conn }

func all(ctx context.Context, pool *redis.Pool, script *redis.Script) {
	c := pool.Get()
	c.Do("WATCH", "k") // want `WATCH through .*Conn\)\.Do; .*MC103`
	c.Send(multi)      // want `MULTI.*MC103`
	c.Send("SET", "k", 1)
	c.Do("exec")                                   // want `EXEC.*MC103`
	redis.DoContext(c, ctx, "Discard")             // want `DISCARD.*MC103`
	redis.DoWithTimeout(c, time.Second, "UNWATCH") // want `UNWATCH.*MC103`
	pooled{c}.Do("WATCH", "k")                     // want `MC103`
	script.Do(c, "WATCH")                          // a key
	do := c.Do
	do("WATCH")
}
