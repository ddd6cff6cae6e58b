// Package redigo is legacy code over redigo.
package redigo

import (
	"context"
	"strings"
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
	do("WATCH") // want `WATCH through .*Conn\)\.Do.*MC103`
	do("GET", "WATCH")
}

var begin = "multi"

func variables(c redis.Conn, keys []string) {
	c.Do(strings.ToUpper(begin)) // want `MULTI.*MC103`
	for _, name := range []string{"SET", "EXEC"} {
		c.Do(name) // want `EXEC.*MC103`
	}
	first := "watch"
	second := first
	c.Do(second, "k") // want `WATCH.*MC103`
	changed := "WATCH"
	change(&changed)
	c.Do(changed, "k")
	args := make([]any, len(keys)+1)
	args[0] = "WATCH"
	for i, key := range keys {
		args[i+1] = key
	}
	c.Do("GET", args...)
	named := map[string]string{}
	named["first"] = "WATCH"
}

func change(*string) {}

// helper is called with a command's name.
func helper(pool *redis.Pool, name string, args ...any) (any, error) {
	c := pool.Get()
	return c.Do(name, args...)
}

func helped(pool *redis.Pool, given string) {
	helper(pool, "WATCH", "k") // want `WATCH through .*redigo\.helper.*MC103`
	helper(pool, "GET", "WATCH")
	again(pool, "exec") // want `EXEC through .*redigo\.again.*MC103`
}

func again(pool *redis.Pool, name string) {
	helper(pool, name)
}
