package lockupdate

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// value reads the answer of a plain GET or HGETALL.
func (c *call) value(kind rmw.Kind) (rmw.Value, error) {
	err := c.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return rmw.Value{}, nil
	case redisx.IsWrongType(err):
		return rmw.Value{}, wrongKind("value of another type", kind)
	case err != nil:
		return rmw.Value{}, err
	}
	switch v := c.cmd.Val().(type) {
	case string:
		return content(kind, []any{v})
	case []any:
		return content(kind, v)
	case map[any]any: // HGETALL with RESP3
		list := make([]any, 0, 2*len(v))
		for name, value := range v {
			list = append(list, name, value)
		}
		return content(kind, list)
	}
	return rmw.Value{}, errOddReply
}

// content makes a Value of what follows the status in a reply: nothing, one
// string, or fields and values.
func content(kind rmw.Kind, list []any) (rmw.Value, error) {
	if len(list) == 0 {
		return rmw.Value{}, nil
	}
	if kind == rmw.KindString {
		s, ok := list[0].(string)
		if !ok || len(list) != 1 {
			return rmw.Value{}, errOddReply
		}
		return rmw.String(s), nil
	}
	if len(list)%2 != 0 {
		return rmw.Value{}, errOddReply
	}
	fields := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, ok1 := list[i].(string)
		value, ok2 := list[i+1].(string)
		if !ok1 || !ok2 {
			return rmw.Value{}, errOddReply
		}
		fields[name] = value
	}
	return rmw.Hash(fields), nil
}

func wrongKind(stored string, want rmw.Kind) error {
	return fmt.Errorf("%w: the key holds a %s, the Key is of Kind %v", rmw.ErrWrongKind, stored, want)
}
