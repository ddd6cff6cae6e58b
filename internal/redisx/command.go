package redisx

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// Command is a command that go-redis sends at most once. By default go-redis runs a
// command up to four times when replies are slow.
type Command struct {
	*redis.Cmd

	// Replied, if not nil, is called after a reply was read, while later replies of the same pipeline
	// may be outstanding. From then on the Command does not change: SetErr has no effect. It is not
	// called for an error reply, as go-redis may follow a redirect.
	Replied interface{ Replied() }

	final bool
}

// NoRetry implements redis.Cmder.
func (*Command) NoRetry() bool { return true }

// SetErr implements redis.Cmder. go-redis calls it with a nil error, too, after it has read a reply.
func (c *Command) SetErr(err error) {
	if c.final {
		return
	}
	c.Cmd.SetErr(err)
	if c.Replied != nil && (err == nil && c.Val() != nil || errors.Is(err, redis.Nil)) {
		c.final = true
		c.Replied.Replied()
	}
}

// Content converts the reply to GET or HGETALL, or the part of a script's reply that is a value. ok is
// false if the reply has another form.
func Content(kind rmw.Kind, reply any) (v rmw.Value, ok bool) {
	switch r := reply.(type) {
	case string:
		return rmw.String(r), kind == rmw.KindString
	case map[any]any: // HGETALL with RESP3
		list := make([]any, 0, 2*len(r))
		for name, value := range r {
			list = append(list, name, value)
		}
		return Content(kind, list)
	case []any:
		if len(r) == 0 {
			return rmw.Value{}, true
		}
		if kind == rmw.KindString {
			s, isString := r[0].(string)
			return rmw.String(s), isString && len(r) == 1
		}
		fields := make(map[string]string, len(r)/2)
		for i := 0; i+1 < len(r); i += 2 {
			name, ok1 := r[i].(string)
			value, ok2 := r[i+1].(string)
			if !ok1 || !ok2 {
				return rmw.Value{}, false
			}
			fields[name] = value
		}
		return rmw.Hash(fields), len(r)%2 == 0
	}
	return rmw.Value{}, false
}
