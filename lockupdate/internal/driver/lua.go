package driver

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// lua is the driver for servers with Lua. Its lock is a hash of the owner and the hold
// count, as Redisson's RLock has it.
type lua struct {
	masterReads, notifyRedisson bool
	withoutKeepTTL              *atomic.Bool // a server has refused KEEPTTL: it is older than Redis 6
}

func (lua) Supports(rmw.Kind) error { return nil }
func (lua) Seals() error            { return nil }

func (lua) Acquire(r AcquireRequest) []*Command {
	cmds := make([]*Command, 1, 2) // with room for a read
	cmds[0] = acquireScript.on(r.Lock, r.Owner, r.Lease.Milliseconds(), milliseconds(r.Hint, time.Millisecond), r.Previous)
	return cmds
}

func (lua) Acquired(_ AcquireRequest, cmds []*Command) (AcquireResult, error) {
	c := cmds[0]
	if c.one() {
		return AcquireResult{Granted: true}, nil
	}
	status, rest, err := c.status()
	switch {
	case err != nil:
		return AcquireResult{}, err
	case status == 0 && len(rest) == 2:
		ms, ok1 := rest[0].(int64)
		hint, ok2 := rest[1].(int64)
		if ok1 && ok2 {
			return AcquireResult{PTTL: fromMilliseconds(ms), Hint: fromMilliseconds(max(hint, 0))}, nil
		}
	case status == 2 && len(rest) > 0:
		return AcquireResult{}, notALock(c.key, rest[0])
	case status == 3 && len(rest) > 0:
		return AcquireResult{}, fmt.Errorf("%w: the lock cannot be given an expiry: %v", rmw.ErrUnsupported, rest[0])
	}
	return AcquireResult{}, c.Unexpected()
}

func (lua) Exists(lock string) *Command { return newCommand("exists", lock) }

func (lua) Renew(lock, owner string, lease time.Duration) *Command {
	return renewScript.on(lock, owner, lease.Milliseconds()).urgent()
}

func (d lua) Release(lock, owner string) *Command {
	if d.notifyRedisson {
		return releaseNotifyScript.on(lock, owner).urgent()
	}
	return releaseScript.on(lock, owner).urgent()
}

func (lua) Owned(c *Command) (owned bool, hint time.Duration, err error) {
	n, err := c.cmd.Int64()
	return n > 0, fromMilliseconds(max(n, 1) - 1), err
}

func (lua) SetHint(AcquireRequest) *Command           { return nil }
func (lua) ClearHint(AcquireRequest) *Command         { return nil }
func (lua) ReadHint(string) *Command                  { return nil }
func (lua) Hint(string, *Command) time.Duration       { return 0 }
func (lua) Expiries() (kept bool, unit time.Duration) { return true, time.Millisecond }
func (lua) Inspect(lock string) []*Command            { return []*Command{inspectScript.on(lock)} }
func (lua) Token(counter string, least int64, ttl time.Duration) *Command {
	return tokenScript.on(counter, least, ttl.Milliseconds())
}

func (d lua) Read(key rmw.Key) *Command {
	var c *Command
	switch hash := key.Kind == rmw.KindHash; {
	case d.masterReads && hash:
		c = newCommand("hgetall", key.Name)
	case d.masterReads:
		c = newCommand("get", key.Name)
	case hash:
		c = readScript.on(key.Name, "hash")
	default:
		c = readScript.on(key.Name, "string")
	}
	c.Reads = true
	return c
}

func (lua) Value(kind rmw.Kind, c *Command) (rmw.Value, error) {
	list, isList := c.cmd.Val().([]any)
	if c.script == nil || isList == (kind == rmw.KindHash) && len(list) != 1 {
		return c.value(kind)
	}
	list, err := c.list()
	if err != nil {
		return rmw.Value{}, err
	}
	stored, ok := list[0].(string)
	switch {
	case !ok || len(list) != 1 || stored == kind.String():
		return rmw.Value{}, c.Unexpected()
	case stored == "none":
		return rmw.Value{}, nil
	}
	return rmw.Value{}, wrongKind(stored, kind)
}

func (lua) Peek(key rmw.Key) *Command {
	c := peekScript.on(key.Name, key.Kind.String())
	c.Reads = true
	return c
}

func (lua) Peeked(kind rmw.Kind, c *Command) (v rmw.Value, left time.Duration, err error) {
	stored, pttl, rest, err := c.typed()
	switch {
	case err != nil || stored == "none":
		return rmw.Value{}, 0, err
	case stored != kind.String():
		return rmw.Value{}, 0, wrongKind(stored, kind)
	}
	v, err = c.content(kind, rest)
	if err != nil || !v.Exists() {
		return rmw.Value{}, 0, err
	}
	left, gone := redisx.Left(pttl)
	if gone {
		return rmw.Value{}, 0, c.Unexpected()
	}
	return v, left, nil
}

func (lua) Inspected(lock string, cmds []*Command, now time.Time) (LockState, error) {
	kind, pttl, rest, err := cmds[0].typed()
	switch {
	case err != nil:
		return LockState{}, err
	case kind != "hash" && kind != "none":
		return LockState{}, notALock(lock, kind)
	case len(rest)%2 != 0:
		return LockState{}, cmds[0].Unexpected()
	}
	s := LockState{TTL: fromMilliseconds(pttl)}
	for i := 0; i < len(rest); i += 2 {
		field, _ := rest[i].(string)
		if field == hintField {
			s.HasWaiters = true
			continue
		}
		s.Owner, s.Age = field, ageOf(field, now)
	}
	if s.Owner == "" {
		return LockState{}, nil // free, or left with nothing but a hint
	}
	return s, nil
}

// maxArgs is below the 1,048,576 elements that Redis before 7, and Codis, accept in one
// command.
const maxArgs = 1_000_000

// ErrTooLarge is a hash that no single command can compare and write.
var ErrTooLarge = fmt.Errorf("%w: the hash has too many fields to compare and write in one command; split the key", rmw.ErrInvalid)

func (d lua) Commit(r CommitRequest) (*Command, error) {
	if r.Key.Kind != rmw.KindHash {
		return commitString(r, d.withoutKeepTTL.Load()), nil
	}
	c := commitHash(r)
	if len(c.args) > header+maxArgs {
		return nil, ErrTooLarge
	}
	return c, nil
}

func (d lua) Committed(kind rmw.Kind, c *Command) (CommitResult, error) {
	if c.one() {
		return CommitResult{Stored: true}, nil
	}
	status, rest, err := c.status()
	switch {
	case err != nil:
		return CommitResult{}, err
	case status == 0 || status == 3:
		now, err := c.content(kind, rest)
		return CommitResult{Stored: status == 3 && err == nil, Known: status == 0 && err == nil, Now: now}, err
	case status == 5:
		d.withoutKeepTTL.Store(true)
		return CommitResult{Stored: true}, nil
	case status == 2 && len(rest) == 1:
		err := wrongKind(fmt.Sprint(rest[0]), kind)
		if MayBeSealed(err) {
			err = nil // not stored; a read tells more
		}
		return CommitResult{}, err
	case status == 4 && len(rest) == 1:
		return CommitResult{}, fmt.Errorf("%w: the value cannot be read to compare it: %v", rmw.ErrUnsupported, rest[0])
	}
	return CommitResult{}, c.Unexpected()
}

// digestFrom is the size of a value, in bytes, from which the guard compares its SHA-1
// instead of the value. That saves sending the value back, and costs the server a tenth
// to a quarter more time for the script. Two values with one digest must be made on
// purpose, by a program that may write both.
const digestFrom = 1 << 10

func commitString(r CommitRequest, withoutKeepTTL bool) *Command {
	var given any = "value" // a constant costs no allocation
	was := r.Base.Text()
	switch {
	case len(was) >= digestFrom:
		sum := sha1.Sum([]byte(was))
		given, was = "sha1", hex.EncodeToString(sum[:])
	case !r.Base.Exists():
		given = "absent"
	}
	expiry := expiryOf(r.TTL)
	switch {
	case !r.Next.Exists():
		expiry = "del"
	case r.TTL == 0 && !withoutKeepTTL:
		expiry = "keepttl"
	}
	return commitStringScript.on(r.Key.Name, expiry, given, was, r.Next.Text())
}
