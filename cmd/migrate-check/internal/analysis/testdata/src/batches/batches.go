// Package batches collects commands first, and sends them later.
package batches

import (
	"context"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

type command struct {
	name    string
	args    redis.Args
	handler func(any) error
}

// Batch is a list of commands.
type Batch struct{ commands []*command }

// Add adds one.
func (b *Batch) Add(name string, args redis.Args, handler func(any) error) {
	b.commands = append(b.commands, &command{name: name, args: args, handler: handler})
}

func (b *Batch) send(c redis.Conn) {
	for _, cmd := range b.commands {
		c.Send(cmd.name, cmd.args...)
	}
}

func all(ctx context.Context, c redis.Conn, rdb *goredis.Client, b *Batch, key string) {
	b.Add("PFCOUNT", redis.Args{key}, nil)
	b.Add("PFCOUNT", redis.Args{key, "other"}, nil) // want `PFCOUNT through .*Add; .*MC402`
	b.Add("KEYS", redis.Args{"*"}, nil)             // want `KEYS through .*Add; .*MC401`
	b.Add("GET", redis.Args{"KEYS"}, nil)
	b.send(c)
	whole(ctx, rdb, []any{"KEYS", "*"}) // want `KEYS through .*whole.*MC401`
	whole(ctx, rdb, []any{"PFCOUNT", key})
}

func whole(ctx context.Context, rdb *goredis.Client, words []any) { rdb.Do(ctx, words...) }
