// Package lease keeps the leases of held locks: one loop per Store renews them on a timing
// wheel, and ends the ctx of the function under a lock before its lease can end. It knows
// no Store and no queue; a [Holder] is told when its lease is lost.
package lease

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/rmw"
)

// Holder holds the lock of a lease.
type Holder interface {
	// LockName is the name of the lock, Owner that of the acquisition.
	LockName() string
	Owner() string

	// LeaseLost is called once if the lease is lost, without any mutex.
	LeaseLost(cause error)
	// LeaveSection ends a critical section under the lock.
	LeaveSection()
}

// Lease is the lease of one held lock. It counts as lost before it can end on the server,
// by the monotonic clock of this process. Lock name, owner and configuration are read
// from the holder and the keeper, not copied: a process may hold 100,000 leases.
type Lease struct {
	holder Holder
	keeper *Keeper

	token    atomic.Uint64  // the fencing token; 0: none was drawn
	inFlight sync.WaitGroup // renewals

	// Guarded by keeper.mu. Times count from keeper.epoch.
	timer   timewheel.Timer[*Lease]
	granted time.Duration // when the last successful acquire or renewal was sent
	until   time.Duration // MaxHold of the current call
	renewAt time.Duration
	ended   bool
	lost    error    // why the lease counts as lost
	ctx     *Context // of the last function under the lease
}

// Keep starts the lease of a lock whose acquire was sent at sent. Call it from within a
// call of the Store.
func (k *Keeper) Keep(h Holder, sent time.Time) *Lease {
	l := &Lease{holder: h, keeper: k}
	l.timer.Value = l
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keepLocked(l, sent)
	return l
}

// End ends the lease, before its lock is released. It waits for renewals in flight.
func (l *Lease) End() {
	l.keeper.drop(l)
	l.inFlight.Wait()
}

// Err returns nil while the lock is surely ours, or why it is not.
func (l *Lease) Err() error {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case l.lost != nil:
		return l.lost
	case l.ended:
		return errEnded
	case k.Now() >= l.expiresLocked():
		return errExpired
	}
	return nil
}

var (
	errExpired = errors.New("its lease has ended")
	errEnded   = errors.New("it has been given back")
)

// undetected returns why the lease is lost if the keeper's loop has not noticed yet.
func (l *Lease) undetected() error {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.lost != nil || l.ended || k.Now() < l.expiresLocked() {
		return nil
	}
	return l.causeLocked()
}

// expiresLocked is when the lease counts as lost: a tenth early, for clocks that run at
// different speeds.
func (l *Lease) expiresLocked() time.Duration {
	d := l.keeper.options.Lease
	return min(l.granted+d-d/10, l.until)
}

// dueLocked is when the loop must look at the lease: for a renewal, or a tick before it
// counts as lost, since the wheel may be that late.
func (l *Lease) dueLocked() time.Duration {
	return min(l.renewAt, l.expiresLocked()-l.keeper.tick)
}

// causeLocked says why a lease that was not renewed is lost.
func (l *Lease) causeLocked() error {
	if l.keeper.Now() >= l.until-l.keeper.tick {
		return l.keeper.HeldTooLong()
	}
	return fmt.Errorf("%w: it could not be renewed within its %v", rmw.ErrLockLost, l.keeper.options.Lease)
}

// Token returns the fencing token that was drawn under the lease, or 0.
func (l *Lease) Token() uint64 { return l.token.Load() }

// LeaveSection ends the critical section under the lock.
func (l *Lease) LeaveSection() { l.holder.LeaveSection() }
