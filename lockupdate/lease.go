package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	until       time.Time // MaxHold
	ghost       time.Time // as in acquisition

	busy sync.WaitGroup // our own commands on the way: the release comes after them

	mu      sync.Mutex
	expires time.Time // when to count it as lost
	ended   bool
	expiry  *time.Timer
	renewal *time.Timer
}

// newLease starts the watch over a lock whose acquire was sent at sent.
func (s *Store) newLease(ctx context.Context, a *acquisition, sent time.Time) *lease {
	l := &lease{Store: s, lock: a.lock, owner: a.owner, ghost: a.ghost, parent: ctx, until: sent.Add(s.cfg.MaxHold)}
	l.ctx, l.cancel = context.WithCancelCause(context.WithValue(ctx, held{s, a.lock}, true))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extend(sent)
	l.expiry = time.AfterFunc(time.Until(l.expires), l.expire)
	l.renewal = time.AfterFunc(time.Until(sent.Add(s.cfg.Lease/2)), l.renew)
	return l
}

// extend sets the end of a lease that was taken or renewed by a command sent at
// sent: a tenth early, for clocks that run at different speeds. l.mu is held.
func (l *lease) extend(sent time.Time) {
	expires := sent.Add(l.cfg.Lease - l.cfg.Lease/10)
	if l.until.Before(expires) {
		expires = l.until
	}
	if l.expires.Before(expires) { // renewals may overtake each other
		l.expires = expires
	}
}

// overdue returns an error once the lock was held for as long as MaxHold allows.
func (l *lease) overdue() error {
	if time.Now().Before(l.until) {
		return nil
	}
	return fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, l.cfg.MaxHold)
}

// ours reports whether the lock is still surely ours.
func (l *lease) ours() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended && time.Now().Before(l.expires) && !errors.Is(context.Cause(l.ctx), rmw.ErrLockLost)
}

// expire runs when the lease may have come to its end.
func (l *lease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case l.ended:
	case now.Before(l.expires): // renewed meanwhile
		l.expiry.Reset(l.expires.Sub(now))
	case l.overdue() != nil:
		l.cancel(l.overdue())
	default:
		l.cancel(fmt.Errorf("%w: it could not be renewed within its %v", rmw.ErrLockLost, l.cfg.Lease))
	}
}

// renew prolongs the lease and sets the time for the next renewal.
func (l *lease) renew() {
	l.mu.Lock()
	if l.ended || l.ctx.Err() != nil || l.overdue() != nil {
		l.mu.Unlock()
		return
	}
	l.busy.Add(1) // before end can wait for it
	// The next try, should this one never be answered.
	l.renewal.Reset(l.cfg.Lease / 8)
	l.mu.Unlock()
	defer l.busy.Done()

	sent := time.Now()
	c := renewScript.on(l.lock, l.owner, l.cfg.Lease.Milliseconds())
	l.sendUnattended(context.WithoutCancel(l.parent), c)
	renewed, err := c.number()

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
	case err != nil: // try again while there is time
		l.renewal.Reset(l.cfg.Lease / 16)
	case renewed == 0:
		l.cancel(fmt.Errorf("%w: the lock is gone from the server, or another's", rmw.ErrLockLost))
	default:
		l.extend(sent)
		l.renewal.Reset(time.Until(sent.Add(l.cfg.Lease / 2)))
	}
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
	l.mu.Lock()
	l.ended = true
	l.expiry.Stop()
	l.renewal.Stop()
	l.mu.Unlock()
	l.cancel(nil)
	l.releaseLater(l.parent, l.lock, l.owner, l.ghost, l.busy.Wait)
}
