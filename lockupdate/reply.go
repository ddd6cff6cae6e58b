package lockupdate

import (
	"errors"
	"fmt"
	"strings"

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
		return content(c, kind, []any{v})
	case []any:
		return content(c, kind, v)
	case map[any]any: // HGETALL with RESP3
		list := make([]any, 0, 2*len(v))
		for name, value := range v {
			list = append(list, name, value)
		}
		return content(c, kind, list)
	}
	return rmw.Value{}, c.odd()
}

// content makes a Value of what follows the status in a reply: nothing, one
// string, or fields and values.
func content(c *call, kind rmw.Kind, list []any) (rmw.Value, error) {
	if len(list) == 0 {
		return rmw.Value{}, nil
	}
	if kind == rmw.KindString {
		s, ok := list[0].(string)
		if !ok || len(list) != 1 {
			return rmw.Value{}, c.odd()
		}
		return rmw.String(s), nil
	}
	if len(list)%2 != 0 {
		return rmw.Value{}, c.odd()
	}
	fields := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, ok1 := list[i].(string)
		value, ok2 := list[i+1].(string)
		if !ok1 || !ok2 {
			return rmw.Value{}, c.odd()
		}
		fields[name] = value
	}
	return rmw.Hash(fields), nil
}

func wrongKind(stored string, want rmw.Kind) error {
	return fmt.Errorf("%w: the key holds a %s, the Key is of Kind %v", rmw.ErrWrongKind, stored, want)
}

// oddReply is a reply that the command never gives. Whether the command ran is unknown.
type oddReply struct{ command, got string }

func (e *oddReply) Error() string {
	return "the reply to " + e.command + " is " + e.got + ", which it never gives; " +
		"is the name used by something else, does a proxy rewrite replies, or is this a miniredis older than v2.23.0?"
}

// odd returns an error that tells the type and the length of the reply, and nothing
// of its content.
func (c *call) odd() error {
	e := &oddReply{}
	if c.script != nil {
		e.command = "the script " + c.script.name
	} else {
		e.command = strings.ToUpper(fmt.Sprint(c.args[0]))
	}
	switch v := c.cmd.Val().(type) {
	case nil:
		e.got = "no value"
	case int64:
		e.got = "an integer"
	case string:
		e.got = fmt.Sprintf("a string of %d bytes", len(v))
	case []any:
		e.got = fmt.Sprintf("an array of %d elements", len(v))
	case map[any]any:
		e.got = fmt.Sprintf("a map of %d entries", len(v))
	default:
		e.got = fmt.Sprintf("a %T", v)
	}
	return e
}

// integer and text return the reply as what they are called, or its error.
func (c *call) integer() (int64, error) {
	n, err := c.cmd.Int64()
	if err != nil && c.cmd.Err() == nil {
		err = c.odd()
	}
	return n, err
}

func (c *call) text() (string, error) {
	text, err := c.cmd.Text()
	if err != nil && c.cmd.Err() == nil {
		err = c.odd()
	}
	return text, err
}
