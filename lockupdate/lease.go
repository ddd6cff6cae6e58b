package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/rmw"
)

// lease is a lock that is ours for the time being. Its ctx ends, with cause
// rmw.ErrLockLost, before the lock can end without us, as far as our monotonic
// clock can tell.
type lease struct {
	*Store
	lock, owner string
	ctx         context.Context // fn's
	cancel      context.CancelCauseFunc
	parent      context.Context
	ghost       time.Time // as in acquisition

	busy sync.WaitGroup // our own commands on the way: the release comes after them

	// Of the watchdog and guarded by its lock; times count from its epoch.
	timer   timewheel.Timer[*lease]
	until   time.Duration // MaxHold
	expires time.Duration // when to count it as lost
	renewAt time.Duration
	ended   bool
}

// newLease starts the watch over a lock whose acquire was sent at sent.
func (s *Store) newLease(ctx context.Context, a *acquisition, sent time.Time) *lease {
	l := &lease{Store: s, lock: a.lock, owner: a.owner, ghost: a.ghost, parent: ctx}
	l.timer.Value = l
	l.ctx, l.cancel = context.WithCancelCause(context.WithValue(ctx, held{s, a.lock}, true))
	s.watchdog.watch(l, sent)
	return l
}

// extend sets the end of a lease that was taken or renewed by a command sent at
// sent: a tenth early, for clocks that run at different speeds. The watchdog's lock
// is held.
func (l *lease) extend(sent time.Duration) {
	expires := min(sent+l.cfg.Lease-l.cfg.Lease/10, l.until)
	l.expires = max(l.expires, expires) // renewals may overtake each other
}

// overdue returns an error once the lock was held for as long as MaxHold allows.
func (l *lease) overdue() error {
	if l.watchdog.now() < l.until { // until never changes
		return nil
	}
	return l.heldTooLong()
}

func (l *lease) heldTooLong() error {
	return fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, l.cfg.MaxHold)
}

// ours reports whether the lock is still surely ours.
func (l *lease) ours() bool {
	l.watchdog.mu.Lock()
	defer l.watchdog.mu.Unlock()
	return !l.ended && l.watchdog.now() < l.expires && !errors.Is(context.Cause(l.ctx), rmw.ErrLockLost)
}

// holdFor keeps the release back until ch is closed.
func (l *lease) holdFor(ch <-chan struct{}) {
	l.busy.Add(1)
	l.gate.Go(func() {
		defer l.busy.Done()
		<-ch
	})
}

// end gives the lock back, behind the caller's back.
func (l *lease) end() {
	l.watchdog.unwatch(l)
	l.cancel(nil)
	l.releaseLater(l.parent, l.lock, l.owner, l.ghost, l.busy.Wait)
}
