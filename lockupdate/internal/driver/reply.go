package driver

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// one reports whether a script answered 1. It costs no allocation.
func (c *Command) one() bool { return c.cmd.Err() == nil && c.cmd.Val() == int64(1) }

// list returns the reply of a script as a list.
func (c *Command) list() ([]any, error) {
	if err := c.cmd.Err(); err != nil {
		return nil, err
	}
	if list, ok := c.cmd.Val().([]any); ok && len(list) > 0 {
		return list, nil
	}
	return nil, c.Unexpected()
}

// status returns the reply of a script as a status and the rest.
func (c *Command) status() (status int64, rest []any, err error) {
	list, err := c.list()
	if err != nil {
		return 0, nil, err
	}
	status, ok := list[0].(int64)
	if !ok {
		return 0, nil, c.Unexpected()
	}
	return status, list[1:], nil
}

// typed returns the reply of a script as the type of the key, its PTTL and the rest.
func (c *Command) typed() (kind string, pttl int64, rest []any, err error) {
	list, err := c.list()
	if err == nil && len(list) > 1 {
		var ok1, ok2 bool
		kind, ok1 = list[0].(string)
		if pttl, ok2 = list[1].(int64); ok1 && ok2 {
			return kind, pttl, list[2:], nil
		}
	}
	return "", 0, nil, cmp.Or(err, c.Unexpected())
}

// Integer returns the reply as a number.
func (c *Command) Integer() (int64, error) {
	n, err := c.cmd.Int64()
	if err != nil && c.cmd.Err() == nil {
		err = c.Unexpected()
	}
	return n, err
}

// Text returns the reply as a string.
func (c *Command) Text() (string, error) {
	text, err := c.cmd.Text()
	if err != nil && c.cmd.Err() == nil {
		err = c.Unexpected()
	}
	return text, err
}

// condition reads the reply of a native command with a condition: whether it was met.
func (c *Command) condition() (bool, error) {
	err := c.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case redisx.IsWrongType(err):
		return false, fmt.Errorf("%w: %w", rmw.ErrWrongKind, err)
	case err != nil:
		return false, err
	}
	switch v := c.cmd.Val(); v {
	case "OK", int64(1):
		return true, nil
	case int64(0), int64(-1):
		return false, nil
	}
	return false, c.Unexpected()
}

// value reads the reply of GET or HGETALL.
func (c *Command) value(kind rmw.Kind) (rmw.Value, error) {
	err := c.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return rmw.Value{}, nil
	case redisx.IsWrongType(err):
		return rmw.Value{}, wrongKind(otherType, kind)
	case err != nil:
		return rmw.Value{}, err
	}
	return c.content(kind, c.cmd.Val())
}

// content reads a reply, or the part of it that is a value.
func (c *Command) content(kind rmw.Kind, reply any) (rmw.Value, error) {
	v, ok := redisx.Content(kind, reply)
	if !ok {
		return rmw.Value{}, c.Unexpected()
	}
	return v, nil
}

func wrongKind(stored string, want rmw.Kind) error {
	if stored == "moved" { // a seal would have to be looked at, and a marker not
		return &wrong{seal.ErrMoved, stored}
	}
	return &wrong{fmt.Errorf("%w: the key holds a %s, the Key is of Kind %v", rmw.ErrWrongKind, stored, want), stored}
}

// wrong is the error of a key that holds another type.
type wrong struct {
	error
	stored string
}

func (e *wrong) Unwrap() error { return e.error }

// MayBeSealed reports whether the error is of a key that may have a seal: it holds a list, or a type that is not known.
func MayBeSealed(err error) bool {
	var w *wrong
	return errors.As(err, &w) && (w.stored == "list" || w.stored == otherType)
}

// otherType is the type of a value that a command without a script has refused.
const otherType = "value of another type"

// UnexpectedReply is a reply that the command never gives. The command may have run.
type UnexpectedReply struct{ command, got string }

func (e *UnexpectedReply) Error() string {
	return "the reply to " + e.command + " is " + e.got + ", which it never gives; " +
		"is the name used by something else, does a proxy rewrite replies, or is this a miniredis older than v2.40.0?"
}

// Unexpected returns an error with the type and the length of the reply, but not its content.
func (c *Command) Unexpected() error {
	e := &UnexpectedReply{}
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

// Fail returns the *rmw.Error of an operation. An unexpected reply is no outage, which
// callers would try again for ever.
func Fail(op string, key rmw.Key, attempts int, err error) error {
	var own *rmw.Error
	var unexpected *UnexpectedReply
	if errors.As(err, &unexpected) && !errors.As(err, &own) {
		err = redisx.Because(rmw.ErrUnsupported, err)
	}
	return redisx.Fail("lockupdate", op, key, attempts, err)
}
