package cas

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// reading is a GET or an HGETALL.
type reading struct {
	key  rmw.Key
	cmd  *redis.Cmd
	sent redis.Cmder // cmd, or cmd as one that go-redis must not repeat
}

// newReading makes the command. Within a transaction go-redis must not repeat it: a connection that
// broke has forgotten its WATCH. go-redis 9.23 would try that connection again, in vain, after pauses.
func newReading(ctx context.Context, key rmw.Key, inTransaction bool) reading {
	command := "get"
	if key.Kind == rmw.KindHash {
		command = "hgetall"
	}
	cmd := redis.NewCmd(ctx, command, key.Name)
	if inTransaction {
		return reading{key, cmd, &redisx.Command{Cmd: cmd}}
	}
	return reading{key, cmd, cmd}
}

func (r reading) ask(ctx context.Context, rdb interface {
	Process(ctx context.Context, cmd redis.Cmder) error
},
) {
	if err := rdb.Process(ctx, r.sent); err != nil && r.cmd.Err() == nil {
		r.cmd.SetErr(err)
	}
}

func (r reading) value() (rmw.Value, error) {
	err := r.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return rmw.Value{}, nil
	case redisx.IsWrongType(err):
		return rmw.Value{}, fmt.Errorf("%w: the key does not hold a %v", rmw.ErrWrongKind, r.key.Kind)
	case err != nil:
		return rmw.Value{}, err
	}
	v, ok := redisx.Content(r.key.Kind, r.cmd.Val())
	if !ok {
		return rmw.Value{}, fmt.Errorf("%w: the reply to %s is a %T, which it never gives", rmw.ErrUnsupported, r.cmd.Name(), r.cmd.Val())
	}
	return v, nil
}
