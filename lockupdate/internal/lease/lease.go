// Package lease keeps the leases of held locks: one loop per Store renews them on a timing
// wheel, and ends the ctx of the function under a lock before its lease can end. It knows
// no Store and no queue; a [Holder] is told when its lease is lost.
package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/callback"
	"github.com/unwatch/unwatch/internal/leaseclock"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// Holder holds the lock of a lease.
type Holder interface {
	// LockName is the name of the lock, Owner that of the acquisition.
	LockName() string
	Owner() string
	// Began is when the lock was taken, by the keeper's clock.
	Began() time.Duration

	// LeaseLost is called at least once if the lease is lost, without any mutex.
	LeaseLost()
	// LeaveSection ends a critical section under the lock.
	LeaveSection()
}

// Lease is the lease of one held lock. It counts as lost before it can end on the server,
// by the clock of this process. A process may hold 100,000 leases, so that a
// Lease is only a timer of the Keeper's wheel and the data that is nowhere else.
type Lease timewheel.Timer[grant]

// grant is guarded by Keeper.mu.
type grant struct {
	under any           // the Holder; the *Context of the last function under the lease; or a *loss
	sent  time.Duration // when the last successful acquire or renewal was sent, by the keeper's clock
}

// loss is the Holder of a lease that is lost.
type loss struct {
	Holder
	cause
}

// cause is why a lease is lost.
type cause struct {
	reason lock.Loss
	why    error
}

var errEnded = fmt.Errorf("%w: it has been given back", rmw.ErrLockLost)

func (l *Lease) timer() *timewheel.Timer[grant] { return (*timewheel.Timer[grant])(l) }

// ctxLocked returns the Context of the last function, or nil.
func (l *Lease) ctxLocked() *Context {
	c, _ := l.Value.under.(*Context)
	return c
}

func (l *Lease) holderLocked() Holder {
	if c := l.ctxLocked(); c != nil {
		return c.lock.(Holder)
	}
	return l.Value.under.(Holder)
}

// Options tune a Keeper.
type Options struct {
	Lease   time.Duration // of every lock
	Expiry  time.Duration // after which the server ends a lease: Lease and the lock delay
	MaxHold time.Duration // of one call

	Observed bool // events have their call
}

// Keeper keeps the leases of one Store: it renews them at half, and counts a lease as lost that it
// could not renew. One loop on a timing wheel does so for all of them, and renews leases
// that are due together in one pipeline: a goroutine, a timer and a round trip for each of
// 100,000 leases would cost hundreds of megabytes and most of a core.
//
// The loop starts with the first lease and ends when there is none.
type Keeper struct {
	transport *transport.Transport
	values    *values.Values
	gate      *redisx.Gate
	emit      event.Sink
	options   Options
	tick      time.Duration
	clock     *leaseclock.Clock

	mu       sync.Mutex // also guards the leases
	wheel    *timewheel.Wheel[grant]
	renewing map[*Lease]int // how many renewals are in flight
	answered sync.Cond      // some of them were
	running  bool
	wakesAt  time.Duration
	wake     chan struct{} // a lease is due before wakesAt
	notes    map[*Lease]note
	noted    int // the most notes of this map
	log      callback.Log[event.Event]
}

// note is the rare part of the state of a lease, so that a Lease stays small.
type note struct {
	jeopardy time.Duration // since when, by the keeper's clock; 0: it is safe
	wanted   bool          // EventWanted was sent
	call     event.Call    // that holds the lock, if it is Observed
	began    time.Duration // when the call got the lock
}

// Now is the time since the keeper was made. It includes the time for which the machine was suspended.
func (k *Keeper) Now() time.Duration { return k.clock.Now() }

// At is what Now was at t.
func (k *Keeper) At(t time.Time) time.Duration { return k.clock.At(t) }

// Context is the ctx of a function under a lock: its caller's, until the function has
// ended or, with cause rmw.ErrLockLost, until the lock is lost. Most functions never ask
// it anything, so that it makes a cancellable context only when it is asked.
type Context struct {
	parent context.Context
	keeper *Keeper
	key    string        // of the lock
	until  time.Duration // MaxHold, by the keeper's clock
	lock   named         // the Holder, or the outer Context of a nested one; without a lease, only its name counts
	lease  *Lease        // nil: the function runs without the lock

	mu          sync.Mutex
	rare        *rare // nil: the zero rare
	depth       int32 // how many hold the lock with it
	section     bool  // a critical section, not an UpdateFunc; never changes
	ended       bool
	beforeOuter bool // it ended before parent did
}

// rare is what few Contexts need.
type rare struct {
	inner  context.Context
	cancel context.CancelCauseFunc
	limit  *time.Timer // ends an unlocked ctx at until
	cause  error       // of the end; context.Canceled if nil
	token  uint64      // the fencing token of the lease; 0: none was drawn
}

// named has the name of a lock.
type named interface{ LockName() string }

// End ends the ctx.
func (c *Context) End(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.beforeOuter = true, true
	select { // not parent.Err: the keeper holds its mutex here, for which the Err of an outer lock waits
	case <-c.parent.Done():
		c.beforeOuter = false
	default:
	}
	if cause != nil {
		c.rareLocked().cause = cause
	}
	if r := c.rare; r != nil && r.inner != nil {
		r.cancel(cause)
		if r.limit != nil {
			r.limit.Stop()
		}
	}
}

func (c *Context) rareLocked() *rare {
	if c.rare == nil {
		c.rare = new(rare)
	}
	return c.rare
}
