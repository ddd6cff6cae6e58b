// Package unknown sends what it does not know.
package unknown

import (
	"context"

	"forwards"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

type config struct{ command string }

func all(ctx context.Context, c redis.Conn, rdb *goredis.Client, cfg config, args []any, s *forwards.Store) {
	c.Do(cfg.command) // want `which command \(redis\.Conn\)\.Do sends is not known.*MC901`
	c.Do("GET", cfg.command)
	name := "GET"
	if cfg.command != "" {
		name = cfg.command
	}
	c.Do(name, "k")                // want `\(redis\.Conn\)\.Do sends GET, or a command that is not known.*MC901`
	s.Do(cfg.command)              // want `which command \(\*forwards\.Store\)\.Do sends`
	rdb.Do(ctx, args[1:]...)       // want `MC901`
	goredis.NewCmd(ctx)            // it has no words
	goredis.NewCmd(ctx, ctx.Err()) // it only carries an error
	make := goredis.NewCmd         // want `MC901`
	use(make)
	do := c.Do // want `MC901`
	each(do)
}

func each(do func(string, ...any) (any, error)) { do("GET") }

// helper is given a name; its callers know it.
func helper(c redis.Conn, name string) { c.Do(name) }

func calls(c redis.Conn) { helper(c, "GET") }

func use(any) {}

// conn may be a connection to anything.
type conn interface {
	Do(command string, args ...any) (any, error)
}

func own(c conn, cfg config) { c.Do(cfg.command) }
