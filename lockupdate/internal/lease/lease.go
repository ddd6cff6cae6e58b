// Package lease keeps the leases of held locks: one loop per Store renews them on a timing
// wheel, and ends the ctx of the function under a lock before its lease can end. It knows
// no Store and no queue; a [Holder] is told when its lease is lost.
package lease

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/lock"
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
// by the monotonic clock of this process. A process may hold 100,000 leases, so that a
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
