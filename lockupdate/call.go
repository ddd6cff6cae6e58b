package lockupdate

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// call is one command on one key: a script to be run, or what a dialect without
// scripts says. Nothing else can be sent.
type call struct {
	script *script // nil: the command is not a script
	key    string
	args   []any // of the whole command
	urgent bool  // worth a try although the store does not answer
	looks  bool  // it is a read
	cmd    *command
	first  command // what cmd points to, at first
}

// word is a call that is no script.
func word(name, key string, args ...any) *call {
	return &call{key: key, args: append([]any{name, key}, args...)}
}

// hurry marks a call as urgent.
func (c *call) hurry() *call {
	c.urgent = true
	return c
}

// arm makes the command anew: a script by digest, or with the whole source for a
// backend that does not know it.
func (c *call) arm(ctx context.Context, whole bool) *command {
	args := c.args
	switch {
	case c.script == nil:
	case whole:
		args = append([]any{"eval", c.script.source}, args[2:]...) // hooks may have kept the first
	default:
		args[0], args[1] = "evalsha", c.script.digest
	}
	if c.cmd == nil {
		c.cmd = &c.first
	} else {
		c.cmd = new(command) // hooks may have kept that one, too
	}
	c.cmd.Cmd = redis.NewCmd(ctx, args...)
	return c.cmd
}

// one reports whether a script answered 1: done. It costs no allocation, as a list would.
func (c *call) one() bool { return c.cmd.Err() == nil && c.cmd.Val() == int64(1) }

// lists reports whether a script answered with a list.
func (c *call) lists() bool {
	_, ok := c.cmd.Val().([]any)
	return ok
}

// reply returns the script's answer as a list.
func (c *call) reply() ([]any, error) {
	if err := c.cmd.Err(); err != nil {
		return nil, err
	}
	if list, ok := c.cmd.Val().([]any); ok && len(list) > 0 {
		return list, nil
	}
	return nil, c.odd()
}

// command is a command that go-redis must not repeat on its own: by default it
// runs a script up to four times when answers are slow.
type command struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (*command) NoRetry() bool { return true }
