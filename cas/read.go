package cas

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// reading is a GET or an HGETALL.
type reading struct {
	key rmw.Key
	cmd redis.Cmder
}

// newReading makes the command. Within a transaction go-redis must not repeat it:
// a connection that broke has forgotten its WATCH.
func newReading(ctx context.Context, key rmw.Key, inTransaction bool) reading {
	r := reading{key: key}
	if key.Kind == rmw.KindHash {
		r.cmd = redis.NewMapStringStringCmd(ctx, "hgetall", key.Name)
	} else {
		r.cmd = redis.NewStringCmd(ctx, "get", key.Name)
	}
	if inTransaction {
		r.cmd = once{r.cmd}
	}
	return r
}

func (r reading) ask(ctx context.Context, rdb interface {
	Process(ctx context.Context, cmd redis.Cmder) error
},
) {
	if err := rdb.Process(ctx, r.cmd); err != nil && r.cmd.Err() == nil {
		r.cmd.SetErr(err)
	}
}

func (r reading) value() (rmw.Value, error) {
	err := r.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return rmw.Value{}, nil
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return rmw.Value{}, fmt.Errorf("%w: the key does not hold a %v", rmw.ErrWrongKind, r.key.Kind)
	case err != nil:
		return rmw.Value{}, err
	}
	cmd := r.cmd
	if o, ok := cmd.(once); ok {
		cmd = o.Cmder
	}
	if fields, ok := cmd.(*redis.MapStringStringCmd); ok {
		return rmw.Hash(fields.Val()), nil
	}
	return rmw.String(cmd.(*redis.StringCmd).Val()), nil
}

// once is a command that go-redis must not repeat on its own.
type once struct{ redis.Cmder }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }
