package driver

import (
	"fmt"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// The commands of an update of several keys. They are the same for every driver that has scripts.

var (
	takeScript = scriptOf(seal.Take.Name, seal.Take.Source)
	openScript = scriptOf(seal.Open.Name, seal.Open.Source)
	lookScript = scriptOf(seal.Look.Name, seal.Look.Source)
	askScript  = scriptOf(seal.Ask.Name, seal.Ask.Source)
	listScript = scriptOf(seal.List.Name, seal.List.Source)
)

// Take seals a key and returns its value. It must not be sent twice: a late copy would seal the key again.
func Take(key rmw.Key, nonce, decision string, check seal.Check) *Command {
	c := takeScript.on(key.Name, seal.TakeArgs(key, nonce, decision, check)...)
	c.Once = true
	return c
}

// Taken is the reply to Take.
type Taken struct {
	Granted bool
	Value   rmw.Value
	Check   seal.Check // if granted after CheckAll: the checks of the next take
	Met     *seal.Met  // if not granted: the mark in the way; nil: a Redis Cluster moves the slot
}

// Taken reads the reply to a Take of the key.
func (c *Command) Taken(key rmw.Key) (t Taken, err error) {
	status, rest, err := c.status()
	switch {
	case err != nil:
		return Taken{}, err
	case status == 1 || status == 6:
		t.Granted = true
		if t.Check = seal.CheckNone; status == 6 {
			t.Check = seal.CheckSlot
		}
		if len(rest) > 0 {
			t.Value, err = c.content(key.Kind, rest)
		}
		return t, err
	case status == 0 && len(rest) == 3:
		m := &seal.Met{}
		m.State, _ = rest[0].(string)
		m.Nonce, _ = rest[1].(string)
		m.Decision, _ = rest[2].(string)
		return Taken{Met: m}, m.Check()
	case status == 2 && len(rest) == 1:
		return Taken{}, wrongKind(fmt.Sprint(rest[0]), key.Kind)
	case status == 3:
		return Taken{}, nil
	case status == 4 && len(rest) == 1:
		return Taken{}, fmt.Errorf("%w: the value has %v bytes, and at most %d can be updated together with others", rmw.ErrInvalid, rest[0], seal.MaxBytes)
	case status == 5:
		return Taken{}, fmt.Errorf("%w: fields of the hash have an expiry, which an update together with others would lose; update it alone",
			rmw.ErrUnsupported)
	case status == 7 && len(rest) == 2:
		return Taken{}, fmt.Errorf("%w: the server refuses the command %v in a script, which Transact needs: %v; give the user all rights for Transact",
			rmw.ErrUnsupported, rest[0], rest[1])
	}
	return Taken{}, c.Unexpected()
}

// Decide makes a decision, unless it is made. Integer tells whether it was not.
func Decide(decision, id, record string) *Command {
	c := newCommand("hsetnx", decision, id, record)
	c.Once = true
	return c
}

// Open gives a sealed key a value.
func Open(n seal.Next) *Command { return openScript.on(n.Key, seal.OpenArgs(n)...) }

// Native returns a command of the index of keys.
func Native(name, key string, args ...any) *Command { return newCommand(name, key, args...) }

// Forget deletes a decision.
func Forget(decision, id string) *Command { return newCommand("hdel", decision, id) }

// CommandOf returns the command of a call.
func CommandOf(call *seal.Call) *Command {
	switch call.Script {
	case seal.Open:
		return openScript.on(call.Key, call.Args...)
	case seal.Ask:
		return askScript.on(call.Key, call.Args...)
	case seal.List:
		return listScript.on(call.Key)
	}
	return lookScript.on(call.Key, call.Args...)
}

// Answer is the reply to any command.
func (c *Command) Answer() (any, error) { return c.cmd.Val(), c.cmd.Err() }
