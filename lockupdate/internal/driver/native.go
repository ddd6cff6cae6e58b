package driver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// native is the driver for servers without Lua that compare and set on their own. It
// guards strings only. Its lock is a string, the owner's name, without room for a wait
// hint: that is a key of its own, hintPrefix before the lock's name.
type native struct {
	read     string                                               // the command that reads a value
	swap     func(key, old, value string, expiry ...any) *Command // replaces old by value
	drop     func(key, old string) *Command                       // deletes old
	keepsTTL bool                                                 // swap can keep the expiry
	unit     time.Duration                                        // of an expiry
}

// HintPrefix precedes the name of a lock in that of its wait hint.
const HintPrefix = "/wait"

// hintLasts is how much longer than announced a wait hint lasts.
const hintLasts = 10 * time.Millisecond

func setIf(option string) func(key, old, value string, expiry ...any) *Command {
	return func(key, old, value string, expiry ...any) *Command {
		return newCommand("set", key, append([]any{value, option, old}, expiry...)...)
	}
}

func swapByCAS(key, old, value string, expiry ...any) *Command {
	return newCommand("cas", key, append([]any{old, value}, expiry...)...)
}

func dropBy(name string, options ...string) func(key, old string) *Command {
	return func(key, old string) *Command {
		args := make([]any, 0, 2)
		for _, option := range options {
			args = append(args, option)
		}
		return newCommand(name, key, append(args, old)...)
	}
}

func (d *native) Supports(kind rmw.Kind) error {
	if kind == rmw.KindString {
		return nil
	}
	return fmt.Errorf("%w: without scripts only strings can be guarded, not a Key of Kind %v; store it as a string, or use CommitGuarded where there is Lua", rmw.ErrUnsupported, kind)
}

// Seals tells that a server without Lua has no atomic way to replace a value by a seal and return it.
func (*native) Seals() error {
	return fmt.Errorf("%w: updates of several keys need scripts; use CommitGuarded where there is Lua", rmw.ErrUnsupported)
}

func (d *native) px(ttl time.Duration) []any { return []any{"px", milliseconds(ttl, d.unit)} }

// Acquire takes a free lock, that of the previous owner, or, after a lost reply, our own.
// A proxy may run the commands in any order: the lock is ours if one of them takes it.
// Only a process that was refused before asks for the lease.
func (d *native) Acquire(r AcquireRequest) []*Command {
	lease := d.px(r.Lease)
	var cmds []*Command
	if r.Previous != "" { // first, since its release may run meanwhile
		cmds = append(cmds, d.swap(r.Lock, r.Previous, r.Owner, lease...))
	}
	cmds = append(cmds, newCommand("set", r.Lock, append([]any{r.Owner, "nx"}, lease...)...))
	if r.Again { // last, since the earlier request may run meanwhile
		cmds = append(cmds, d.swap(r.Lock, r.Owner, r.Owner, lease...))
	}
	if r.Polled || r.Hint == 0 { // without a hint there is no later request
		cmds = append(cmds, newCommand("type", r.Lock))
	}
	if r.Polled && d.unit < time.Second { // a coarser PTTL tells nothing of the holder
		cmds = append(cmds, PTTL(r.Lock))
	}
	return cmds
}

func (d *native) Acquired(r AcquireRequest, cmds []*Command) (AcquireResult, error) {
	var err error
	res := AcquireResult{PTTL: -1}
	for _, c := range cmds {
		switch c.args[0] {
		case "type":
			if kind, unknown := c.cmd.Text(); err == nil && unknown == nil && kind != "string" && kind != "none" {
				err = notALock(r.Lock, kind)
			}
		case "pttl":
			if ms, unknown := c.cmd.Int64(); unknown == nil {
				if res.PTTL = fromMilliseconds(ms); ms == -2 {
					res.PTTL = 0 // released meanwhile
				}
			}
		default:
			met, refused := c.condition()
			res.Granted = res.Granted || met
			// An unknown outcome counts for more than a sure one. Of a wrong type, TYPE
			// tells which.
			if !errors.Is(refused, rmw.ErrWrongKind) && (err == nil || redisx.OutcomeOf(refused) == redisx.Unknown) {
				err = refused
			}
		}
	}
	if res.Granted {
		return AcquireResult{Granted: true}, nil
	}
	return res, err
}

func (d *native) Exists(lock string) *Command { return newCommand("exists", lock) }

func (d *native) Renew(lock, owner string, lease time.Duration) *Command {
	return d.swap(lock, owner, owner, d.px(lease)...).urgent()
}

func (d *native) Release(lock, owner string) *Command { return d.drop(lock, owner).urgent() }

func (d *native) Owned(c *Command) (owned bool, hint time.Duration, err error) {
	owned, err = c.condition()
	if errors.Is(err, rmw.ErrWrongKind) {
		owned, err = false, nil
	}
	return owned, 0, err
}

func (d *native) SetHint(r AcquireRequest) *Command {
	return newCommand("set", HintPrefix+r.Lock, append([]any{hintOf(r)}, d.px(2*r.Hint+hintLasts)...)...)
}

func (d *native) ClearHint(r AcquireRequest) *Command { return d.drop(HintPrefix+r.Lock, hintOf(r)) }

// hintOf says which owner waits, and within how many milliseconds it polls again.
func hintOf(r AcquireRequest) string {
	return r.Owner + " " + strconv.FormatInt(milliseconds(r.Hint, time.Millisecond), 10)
}

func (d *native) ReadHint(lock string) *Command { return newCommand("get", HintPrefix+lock) }

func (d *native) Hint(owner string, c *Command) time.Duration {
	waiter, hint := readHint(c)
	if storeOf(waiter) == storeOf(owner) {
		return 0 // our own, from when this Store waited
	}
	return hint
}

// readHint reads a wait hint: the owner that waits, and within which time it polls again.
func readHint(c *Command) (waiter string, hint time.Duration) {
	text, err := c.cmd.Text()
	if err != nil {
		return "", 0
	}
	waiter, number, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || ms < 0 {
		return "", 0
	}
	return waiter, fromMilliseconds(ms)
}

func (d *native) Read(key rmw.Key) *Command {
	c := newCommand(d.read, key.Name)
	c.Reads = true
	return c
}

func (d *native) Value(kind rmw.Kind, c *Command) (rmw.Value, error) { return c.value(kind) }

func (d *native) Peek(rmw.Key) *Command { return nil }

func (d *native) Peeked(_ rmw.Kind, c *Command) (rmw.Value, time.Duration, error) {
	return rmw.Value{}, 0, c.Unexpected()
}

func (d *native) Expiries() (kept bool, unit time.Duration) { return d.keepsTTL, d.unit }

func (d *native) Commit(r CommitRequest) (*Command, error) {
	name, old, value := r.Key.Name, r.Base.Text(), r.Next.Text()
	var expiry []any
	switch {
	case r.TTL > 0:
		expiry = d.px(r.TTL)
	case r.TTL < 0:
	case r.Remaining > 0:
		expiry = []any{"px", r.Remaining.Milliseconds()}
	case d.keepsTTL && r.Base.Exists():
		expiry = []any{"keepttl"}
	}
	switch {
	case !r.Base.Exists():
		return newCommand("set", name, append([]any{value, "nx"}, expiry...)...), nil
	case !r.Next.Exists():
		return d.drop(name, old), nil
	}
	return d.swap(name, old, value, expiry...), nil
}

func (d *native) Committed(_ rmw.Kind, c *Command) (CommitResult, error) {
	stored, err := c.condition()
	return CommitResult{Stored: stored}, err
}

func (d *native) Inspect(lock string) []*Command {
	return []*Command{newCommand("type", lock), newCommand("get", lock), PTTL(lock), d.ReadHint(lock)}
}

func (d *native) Inspected(lock string, cmds []*Command, now time.Time) (LockState, error) {
	kind, err := cmds[0].Text()
	if err != nil {
		return LockState{}, err
	}
	if kind != "string" && kind != "none" {
		return LockState{}, notALock(lock, kind)
	}
	owner, err := cmds[1].Text()
	if errors.Is(err, redis.Nil) {
		return LockState{}, nil
	}
	pttl, errTTL := cmds[2].Integer()
	if err = errors.Join(err, errTTL); err != nil {
		return LockState{}, err
	}
	_, hint := readHint(cmds[3])
	return LockState{Owner: owner, TTL: fromMilliseconds(pttl), Age: ageOf(owner, now), HasWaiters: hint > 0}, nil
}

func (d *native) Token(string, int64, time.Duration) *Command { return nil }
