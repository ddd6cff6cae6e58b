package lockupdate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// Commit is how a value is written.
type Commit uint8

const (
	// CommitGuarded writes only if the value is still the one that fn was given. It is
	// the default and the only safe choice.
	CommitGuarded Commit = iota

	// CommitIFEQ is the same guard by the server's own SET … IFEQ and DELEX, which
	// Redis has since 8.4, where scripts are not to be used. For all four without
	// scripts: values are strings only, and the lock is a string, so that every
	// process of a service must use the same. See [Probe].
	CommitIFEQ

	// CommitDELIFEQ is that with DELIFEQ instead of DELEX: Valkey since 9.0.
	CommitDELIFEQ

	// CommitVX is the guard by SET … VX and DELVX, which Pika has. Pika has neither
	// Lua nor a way to keep a key's expiry while it is written: a commit that shall
	// keep it takes a round trip more. Before version 4 it counts in seconds, so
	// that all expiries are rounded up to whole ones, and one that is kept by writes
	// without a pause ends some percent late. Reads are plain GETs here: they
	// need what MasterReads promises, and Pika's cache switched off (cache-model 0),
	// into which it puts also what SET … VX refused.
	CommitVX

	// CommitCAS is the guard by CAS and CAD, which Kvrocks and Tair have. It keeps an
	// expiry, rounds and reads as CommitVX does: old Kvrocks counts in seconds, too.
	CommitCAS
)

// String returns the name of the constant, without "Commit".
func (c Commit) String() string {
	switch c {
	case CommitGuarded:
		return "Guarded"
	case CommitIFEQ:
		return "IFEQ"
	case CommitDELIFEQ:
		return "DELIFEQ"
	case CommitVX:
		return "VX"
	case CommitCAS:
		return "CAS"
	}
	return fmt.Sprintf("Commit(%d)", uint8(c))
}

// Config tunes a [Store]. The zero Config works.
type Config struct {
	// Lease is how long a lock outlives a process that died with it. It is
	// renewed at half. Default 10 s, at least 10 ms, and to be useful many
	// round trips. It should exceed the worst stall you want to sit out
	// without a second holder; safety does not depend on it.
	Lease time.Duration

	// LockDelay keeps a lock from other holders for this time after its lease has ended
	// without a release, because its process crashed or lost the lock: requests of the old
	// holder that are still on their way can arrive first. A release frees the lock at
	// once. Default 0.
	LockDelay time.Duration

	// MaxHold ends the renewal, and cancels fn, when one update has held its
	// lock this long: a stuck fn must not lock a key forever. Default 1 min.
	MaxHold time.Duration

	// MaxWait bounds the wait of each call for a lock, and for a store that cannot be reached or does
	// not answer. Then the call fails with rmw.ErrContended if the lock was taken, and with
	// rmw.ErrUnavailable if the store did not answer. It does not bound fn, nor the wait for the reply to a
	// commit, whose outcome would be unknown, nor commands in flight with WaitForReply. Default 0: only ctx bounds it.
	MaxWait time.Duration

	// MaxAttempts bounds how often fn is called in one Update. The guard
	// refuses a commit only after a write without the lock, or if the lock was
	// lost; so only persistent WATCH writers reach the bound. Then the Update
	// fails with rmw.ErrContended. Default 100.
	MaxAttempts int

	// Poll is the delay between attempts to take a lock that is taken. Default 1 ms,
	// doubling up to 64 ms. While many processes wait, a delay may be longer, but not
	// longer than the wait so far.
	Poll rmw.Backoff

	// LockName gives the name of the lock of a key. It must be a pure function,
	// and no name it returns may be used for anything else, nor that name with
	// "/fence" or "/wait" before it. A key for which it returns "" or the key itself
	// is refused with rmw.ErrInvalid. Default: "/lock/" + key, and "" for a key that
	// begins so itself, or with "/fence/lock/" or "/wait/lock/".
	LockName func(key string) string

	// LockOnDemand lets an update of an uncontended key run without the lock: one
	// round trip reads the value and looks at the lock, one commits under the guard, and
	// nothing is released. If the lock is held, or the guard refuses the commit, or the key
	// was contended within the last second, the update takes the lock.
	//
	// Switch it on if every writer of these keys is an Update, uses WATCH, or writes under
	// a guard of its own; no update gets lost then. Without it, an Update also excludes
	// programs that hold the lock and write without a guard, as Redisson's RLock with a
	// plain SET: with LockOnDemand their writes and those of an Update can overwrite each
	// other. Two processes may then run their fn at the same time; one of them runs again.
	// Within an fn without the lock, lock.StateOf is lock.Lost, and lock.Token,
	// lock.SequencerOf and WithLock of its key return rmw.ErrUnsupported: call Update
	// within a WithLock. docs/guarantees.md lists all differences. It cannot be combined
	// with SoleWriter. Default false.
	LockOnDemand bool

	// WaitForReply has a call send its commands from its own goroutine. If ctx
	// ends while a command is in flight, the call then returns when that command is answered, at
	// the latest after the client's ReadTimeout, as calls of go-redis do. By default it
	// returns at once, at the cost of a goroutine for each flush. The end of ctx while a
	// call waits for a lock, for an outage or between commands is seen at once either way.
	WaitForReply bool

	// NoCombining commits each update by itself. By default, updates of one key
	// that wait in the same process are run one after the other, each fn on its
	// caller's goroutine and on the value that the fn before returned, and written
	// together: one commit for all. None is answered before that. If its answer
	// is lost, all of them get rmw.ErrOutcomeUnknown.
	NoCombining bool

	// Linger is how long a lock without further updates is kept, with the value, for the
	// next update of the same key by this Store, which then takes one round trip instead
	// of two. A process that polls for the lock gets it at once. Default 0: the lock is
	// released at once. At most Poll.Max.
	Linger time.Duration

	// NoBreaker has every call try a store that does not answer. By default, a
	// circuit breaker opens after ten flushes in a row without any answer. It lets
	// one call each second try again, and the others wait for that: see MaxOutage. An
	// error reply is an answer, and so is that a lock is taken.
	NoBreaker bool

	// MaxOutage is how long a call waits for a store that cannot be reached: the
	// client cannot connect, or the circuit breaker is open. While it is open, only
	// its own tries are sent. ctx and MaxWait still bound the call. After MaxOutage
	// the call fails with rmw.ErrUnavailable. With a negative MaxOutage calls fail
	// at once, as TryLock always does, and as all calls do with NoBreaker. Default 3 s.
	MaxOutage time.Duration

	// Observer is told of the events of locks. A lock that passes from call to call of this
	// process is acquired and released by each Lock and WithLock. Updates in a row share the events
	// of the first one. Default nil: no calls.
	Observer lock.Observer

	// OnEvent is called with each other event of locks and updates, several at a time. It must be
	// quick, because the Store waits for it, and must not call the Store. A panic in it is
	// contained, as in an Observer. Default nil: no calls.
	OnEvent func(Event)

	// BatchContext returns the ctx that the client gets for commands of several calls, which are a
	// commit of several updates or with a renewal, or a flush of several commands, and what is called with
	// their error. callers are the ctxs of the calls. It lets a tracing package link their traces. It
	// must be quick, and must not call the Store. The end of the ctx does not end the
	// commands. Default nil, and after a panic or a nil result: a ctx without values, so that the
	// trace of one caller has no commands of another.
	BatchContext func(callers []context.Context) (ctx context.Context, end func(err error))

	// Logger gets what Observer and OnEvent get, at level debug, with the ctx of the call. Default
	// nil: nothing is logged.
	Logger *slog.Logger

	// Commit is how values are written. Default CommitGuarded.
	Commit Commit

	// MasterReads promises that a plain GET or HGETALL is answered by a master: that
	// there is no proxy, or one that reads from no replica (Codis:
	// backend_primary_only, or no replica groups). Then values are read so, instead of
	// by script: one script of four less for the server in an update. If the
	// promise is broken, Read and updates that write nothing can return old
	// values; one that writes is refused by the guard and runs again. Default false.
	MasterReads bool

	// SoleWriter promises that every writer of these keys takes this lock, so
	// that none uses WATCH or a plain SET any more. Transact, which takes no lock, is refused. Then, after a lost reply to a commit,
	// the value is looked for, and the commit counts as done, instead of as
	// rmw.ErrOutcomeUnknown, if its value is found stored while the lease
	// lasts. If the promise is broken, such an update can be acknowledged
	// though another writer wrote the same bytes in its place. Default false.
	SoleWriter bool

	// NotifyRedisson has the release of a lock publish it as Redisson 3 does: message 0 on
	// channel "redisson_lock__channel:{lock}", from within the script, so that no further
	// command is sent. A Redisson that waits for the lock then tries at once. By default
	// it sleeps until the lease has ended that it saw when it tried, at most Lease. It
	// needs scripts, an ACL that allows PUBLISH on these channels, and servers where
	// Redisson can subscribe; the package documentation lists them. Do not set it behind
	// Alibaba's proxy, which may refuse the whole script. A message that the server
	// refuses, or that reaches no subscriber, is no error. Default false.
	NotifyRedisson bool
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.MaxHold = cmp.Or(c.MaxHold, time.Minute)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 100)
	c.MaxOutage = cmp.Or(c.MaxOutage, 3*transport.OpenFor)
	c.Poll.Base = cmp.Or(c.Poll.Base, time.Millisecond)
	c.Poll.Max = cmp.Or(c.Poll.Max, max(64*time.Millisecond, c.Poll.Base))
	if c.LockName == nil {
		c.LockName = defaultLockName
	}
	return c
}

// expiry is the time after which the server ends a lease that is not renewed.
func (c Config) expiry() time.Duration { return c.Lease + min(c.LockDelay, math.MaxInt64-c.Lease) }

// defaultPrefix begins the name of every lock that has no LockName of its own.
const defaultPrefix = "/lock/"

// defaultLockName returns no name for a key that looks like a lock itself, or like what
// belongs to one: its neighbour could not tell them apart.
func defaultLockName(key string) string {
	for _, before := range []string{"", lease.FencePrefix, driver.HintPrefix} {
		if rest, ok := strings.CutPrefix(key, before); ok && strings.HasPrefix(rest, defaultPrefix) {
			return ""
		}
	}
	return defaultPrefix + key
}

// Validate reports, as an [rmw.ErrInvalid], what cannot work. A Store made with
// such a Config returns that error from every call.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Lease < 10*time.Millisecond:
		return invalid("Lease is %v; use at least 10ms, or 0 for the default", c.Lease)
	case c.LockDelay < 0:
		return invalid("LockDelay is %v; use a positive duration, or 0 for none", c.LockDelay)
	case c.MaxHold < 0:
		return invalid("MaxHold is %v; use a positive duration, or 0 for the default", c.MaxHold)
	case c.MaxWait < 0:
		return invalid("MaxWait is %v; use a positive duration, or 0 for no limit but ctx", c.MaxWait)
	case c.Linger < 0 || c.Linger > c.Poll.Max:
		return invalid("Linger is %v; use 0 to %v, which is Poll.Max: others must not wait for longer than they do anyway", c.Linger, c.Poll.Max)
	case c.MaxAttempts < 0:
		return invalid("MaxAttempts is %d; use a positive number, or 0 for the default", c.MaxAttempts)
	case c.Poll.Base < 0 || c.Poll.Max < 0:
		return invalid("Poll is %+v; use positive durations", c.Poll)
	case c.Commit > CommitCAS:
		return invalid("Commit is %d; use CommitGuarded", c.Commit)
	case c.LockOnDemand && c.SoleWriter:
		return invalid("LockOnDemand and SoleWriter are both set; SoleWriter relies on every writer holding the lock, so switch one of them off")
	case c.NotifyRedisson && c.Commit != CommitGuarded:
		return invalid("NotifyRedisson needs scripts, which Commit%v does without; a Redisson cannot share these locks", c.Commit)
	case (c.Commit == CommitVX || c.Commit == CommitCAS) && c.Lease < time.Second:
		return invalid("Lease is %v; use at least 1s with Commit%v, as the server may count in seconds", c.Lease, c.Commit)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: lockupdate.Config."+format, append([]any{rmw.ErrInvalid}, args...)...)
}

// RequiredCommands returns the name of every command that a Store with this Config may send,
// and of every command its scripts call. A server or proxy has to allow the former; an
// ACL has to allow both. A service that never calls Transact needs no CLUSTER, HGET, HMSET, HPTTL, HSETNX, RPUSH, SADD,
// SMEMBERS and TIME. A server that does not know HPTTL needs no right for it.
func (c Config) RequiredCommands() (sent, called []string) {
	switch c.Commit {
	case CommitIFEQ:
		sent = []string{"DELEX", "GET", "GETEX", "PTTL", "SET", "TYPE"}
	case CommitDELIFEQ:
		sent = []string{"DELIFEQ", "GET", "GETEX", "PTTL", "SET", "TYPE"}
	case CommitVX:
		sent = []string{"DELVX", "GET", "PTTL", "SET", "TYPE"}
	case CommitCAS:
		sent = []string{"CAD", "CAS", "GET", "PTTL", "SET", "TYPE"}
	default:
		sent = []string{"DEL", "EVAL", "EVALSHA", "HDEL", "HSET", "HSETNX", "SADD"}
		if c.MasterReads {
			sent = append(sent, "GET", "HGETALL")
			slices.Sort(sent)
		}
		called = []string{
			"CLUSTER", "DEL", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HLEN", "HMGET", "HMSET", "HPTTL", "HSET", "HSETNX", "LRANGE",
			"PERSIST", "PEXPIRE", "PTTL", "RPUSH", "SADD", "SET", "SMEMBERS", "TIME", "TYPE",
		}
		if c.NotifyRedisson {
			called = slices.Insert(called, slices.Index(called, "RPUSH"), "PUBLISH")
		}
	}
	if c.MasterReads {
		sent = slices.DeleteFunc(sent, func(command string) bool { return command == "GETEX" })
	}
	if c.LockOnDemand {
		sent = append(sent, "EXISTS")
		slices.Sort(sent)
	}
	return sent, called
}
