// Package driver turns the requests of a Store into commands on one key, and their
// replies into results. It sends nothing and keeps no state.
//
// There are two drivers. The Lua driver runs scripts. The native driver uses the
// server's own compare-and-set, for servers without Lua. Both have the same guard.
//
// Its only import from above the standard library is go-redis, for the command type,
// and package rmw, for keys and values.
package driver

import (
	"fmt"
	"math"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// A Driver builds commands and reads their replies. Methods come in pairs: one builds
// the command, the other reads the reply. A Driver is safe for concurrent use.
type Driver interface {
	// Supports returns nil if values of the kind can be written under a guard.
	Supports(kind rmw.Kind) error

	// Seals returns nil if keys can be updated together, which takes scripts.
	Seals() error

	// Acquire asks for a lock.
	Acquire(r AcquireRequest) []*Command
	Acquired(r AcquireRequest, cmds []*Command) (AcquireResult, error)

	// Exists asks whether a lock is held, without touching it.
	Exists(lock string) *Command

	// Renew prolongs a lease, Release gives the lock back. Neither touches a lock of
	// another owner. Owned tells whether the lock was the owner's, and, if the lock can
	// hold a wait hint, the hint: the time within which another process polls again, or 0.
	Renew(lock, owner string, lease time.Duration) *Command
	Release(lock, owner string) *Command
	Owned(c *Command) (owned bool, hint time.Duration, err error)

	// SetHint leaves a wait hint beside the lock, ClearHint deletes it, ReadHint asks for
	// that of others, and Hint reads the reply. The commands are nil if the lock itself
	// holds the hint. Hints only serve fairness; a lost hint costs waiting time.
	SetHint(r AcquireRequest) *Command
	ClearHint(r AcquireRequest) *Command
	ReadHint(lock string) *Command
	Hint(owner string, c *Command) time.Duration

	Read(key rmw.Key) *Command
	Value(kind rmw.Kind, c *Command) (rmw.Value, error)

	// Peek asks for a value and its expiry at one moment. It is nil if that takes
	// several commands.
	Peek(key rmw.Key) *Command
	Peeked(kind rmw.Kind, c *Command) (v rmw.Value, left time.Duration, err error)

	// Commit writes if the key still holds the base of the request.
	Commit(r CommitRequest) (*Command, error)
	Committed(kind rmw.Kind, c *Command) (CommitResult, error)

	// Expiries tells whether a commit can keep the expiry of a key, and the unit in
	// which the server may count an expiry.
	Expiries() (kept bool, unit time.Duration)

	Inspect(lock string) []*Command
	Inspected(lock string, cmds []*Command, now time.Time) (LockState, error)

	// Token draws a fencing token. It is nil if that takes a read and a commit.
	Token(counter string, least int64, ttl time.Duration) *Command
}

// AcquireRequest asks for a lock.
type AcquireRequest struct {
	Lock, Owner string
	Previous    string        // the owner before, of the same Store, while its release is in flight; or ""
	Lease       time.Duration // of the lock, if granted
	Hint        time.Duration // time within which this process polls again if refused; 0: it does not
	Polled      bool          // a request of this process was refused before
	Again       bool          // the reply to an earlier request of this Owner was lost
}

// AcquireResult answers an AcquireRequest.
type AcquireResult struct {
	Granted bool
	PTTL    time.Duration // if refused: the rest of the holder's lease; negative: unlimited or unknown
	Hint    time.Duration // if refused: the longest Hint of the other waiters; 0: unknown
}

// CommitRequest asks to write a value.
type CommitRequest struct {
	Key       rmw.Key
	Base      rmw.Value     // the value that the key must hold
	Next      rmw.Value     // the value to write; a Value that does not exist deletes the key
	Reads     ReadSet       // the part of Base that must be unchanged
	TTL       time.Duration // as rmw.Key.TTL
	Remaining time.Duration // of the expiry, for a driver that cannot keep it; 0: none
}

// ReadSet is the part of a hash that fn has read. The zero ReadSet is the whole value.
type ReadSet struct {
	Partial bool     // only Fields were read
	Fields  []string // may repeat a name
}

// Add adds what another fn has read.
func (s *ReadSet) Add(other ReadSet) {
	if !s.Partial || !other.Partial {
		*s = ReadSet{}
		return
	}
	s.Fields = append(s.Fields, other.Fields...)
}

// CommitResult answers a CommitRequest.
type CommitResult struct {
	Stored bool
	Known  bool      // if not Stored: Now is the present value
	Now    rmw.Value // if Stored: the value before, if it differs from Base outside Reads
}

// LockState is a lock as the server shows it. Owner "" is a free lock.
type LockState struct {
	Owner      string
	TTL        time.Duration // of the lease; negative: unlimited
	Age        time.Duration // since the owner took it, by its clock and ours; 0: unknown
	HasWaiters bool
}

// milliseconds rounds d up to the unit: 0 would mean no expiry, or no hint.
func milliseconds(d, unit time.Duration) int64 {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int64(n) * unit.Milliseconds()
}

// fromMilliseconds converts a number that another program may have written: it is at
// least -1 ms and at most the longest duration.
func fromMilliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, -1), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func notALock(name string, kind any) error {
	return fmt.Errorf("%w: the lock %.128q is a %v, not a lock; set Config.LockName to names that nothing else uses, and the same Config.Commit everywhere",
		rmw.ErrWrongKind, name, kind)
}
