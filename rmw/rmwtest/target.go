package rmwtest

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Target is the subject of the suite: a Store, with access to its storage and
// faults below it.
type Target struct {
	// Open returns a Store over the storage. Each call stands for one more
	// process: a Store must share nothing with the others but the
	// storage. The opener closes them after the clause; the clause may have
	// closed one that is an io.Closer before, so closing twice must be fine.
	Open func() rmw.Store

	// Direct reads and writes the storage beside the Store, as a legacy
	// service or a person with redis-cli would.
	Direct Direct

	// Faults disturbs the commands of the Stores, or is nil if that is not
	// possible; then the clauses that need it are skipped.
	Faults Faults

	// Kinds are those of the values that the Store stores; nil means all. Keys of
	// another it has to refuse.
	Kinds []rmw.Kind

	// ExpiryUnit is the unit of expiries in the storage; 0 means milliseconds.
	ExpiryUnit time.Duration

	// OneSlot tells that a Transact needs keys with a common hash tag: those of its clauses have one.
	OneSlot bool

	// EqualWrites tells that a Store may take the write of another for its own after a lost answer, if both store the same.
	EqualWrites bool

	// Patience bounds how long a clause may take; 0 means a minute, or three for those of a Transact. A Store that
	// waits beyond it fails.
	Patience time.Duration
}

// Direct is access to the storage that goes round the Store.
type Direct interface {
	// Get returns the value under a key and the time it has left, rmw.NoTTL
	// if that is unlimited.
	Get(ctx context.Context, name string) (rmw.Value, time.Duration, error)
	// Set replaces the value and its expiry (a duration or rmw.NoTTL). The
	// zero Value deletes.
	Set(ctx context.Context, name string, v rmw.Value, ttl time.Duration) error
	// Append adds "id," to the end of a string, or the field id with the value
	// "x" to a hash, in one atomic step and past every lock.
	Append(ctx context.Context, key rmw.Key, id string) error
}

// FaultKind is the effect on a command.
type FaultKind uint8

const (
	// NoFault executes and answers; only Fault.Do happens.
	NoFault FaultKind = iota
	// RequestLost: the command is not executed, the connection breaks.
	RequestLost
	// ReplyLost: the command is executed, then the connection breaks.
	ReplyLost
	// Hang: the command is executed, and no answer ever comes.
	Hang
	// Late: the connection breaks, and the command is executed after that, when
	// Fault.Delay has passed. Proxies do that.
	Late
)

// String names the kind for test output.
func (k FaultKind) String() string {
	return [...]string{"no fault", "request lost", "reply lost", "hang", "late"}[k]
}

// Fault is one disturbance.
type Fault struct {
	Kind  FaultKind
	Do    func()        // run when the command arrives, before anything else; may be nil. For NoFault only
	Delay time.Duration // for Late
}

// Faults disturbs the traffic between the Stores and the storage.
type Faults interface {
	// Arm disturbs the n-th command, counted from 1, that the Stores send from
	// now on; connection set-up does not count. stop ends it, waits for a Do
	// that runs, and reports whether that command ever came. One fault is
	// armed at a time.
	Arm(n int, f Fault) (stop func() (struck bool))
}
