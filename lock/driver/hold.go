package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Hold is a lock that is held, or asked for, by one owner. A Service sees it in Renew.
type Hold struct {
	locker *Locker
	name   string
	owner  string
	caller context.Context // of the call that asked for the lock
	called time.Time

	// Guarded by the Locker's mutex.
	stop     context.CancelCauseFunc // ends the wait
	users    int                     // functions under the lock; 0: it waits, or has ended
	token    uint64
	taken    time.Time
	until    time.Time // when it counts as lost
	since    time.Time // when the renewed lease began; zero: when Renew was called
	failed   error     // why the Service could not renew this hold
	jeopardy time.Time // since when; zero: it is safe
	wanted   bool
	waiting  bool // EventWaiting was sent, and EventWaitEnded was not
	lost     error
	dropped  bool            // it was lost, and the service keeps it no longer
	kept     context.Context // ends when the lock is lost
	lose     context.CancelCauseFunc
}

// Name is the name of the lock.
func (h *Hold) Name() string { return h.name }

// Owner is the owner of the hold.
func (h *Hold) Owner() string { return h.owner }

// Waiting reports whether the lock is not held, but asked for.
func (h *Hold) Waiting() bool {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.taken.IsZero()
}

// Token is the token of the grant.
func (h *Hold) Token() uint64 {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.token
}

// Lose tells that the owner does not hold the lock, or has lost its place among those that
// wait for it. reason is that of the event, and cause the text of an rmw.ErrLockLost.
func (h *Hold) Lose(reason lock.Loss, cause string) {
	h.locker.mu.Lock()
	defer h.locker.tell()
	if h.taken.IsZero() {
		h.stop(fmt.Errorf("%w: the wait for the lock was lost: %s", rmw.ErrUnavailable, cause))
		return
	}
	h.loseLocked(reason, fmt.Errorf("%w: %s", rmw.ErrLockLost, cause))
}

// Since tells, from within Renew, that the renewed lease counts from t, by Config.Now. A Service
// calls it that cannot be sure to have prolonged the lease by all of Config.Expiry. A t after
// the call of Renew has no effect.
func (h *Hold) Since(t time.Time) {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	h.since = t
}

// Fail tells, from within Renew, that this lease may not have been prolonged, while those of
// other holds were. It is an error of Renew for this hold alone.
func (h *Hold) Fail(err error) {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	h.failed = err
}

// Want tells that another process waits for the lock.
func (h *Hold) Want() {
	h.locker.mu.Lock()
	defer h.locker.tell()
	if h.activeLocked() && !h.wanted {
		h.wanted = true
		h.eventLocked(lock.Event{Kind: lock.EventWanted})
	}
}

// newHold registers a request.
func (l *Locker) newHold(ctx context.Context, name string, stop context.CancelCauseFunc) *Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &Hold{locker: l, name: name, owner: l.nextOwnerLocked(), caller: ctx, called: l.cfg.Now(), stop: stop}
	l.holds[h] = struct{}{}
	if !l.keeping {
		l.keeping = true
		l.renewAt = h.called.Add(l.cfg.Lease / 3)
		l.running.Go(l.keep)
	}
	return h
}

// granted begins the lease of a lock that was asked for at sent. It returns false if that
// has ended.
func (h *Hold) granted(g Grant, sent time.Time) bool {
	l := h.locker
	l.mu.Lock()
	defer l.tell()
	if g.Since.IsZero() {
		g.Since = sent
	}
	now := l.cfg.Now()
	h.until = g.Since.Add(l.cfg.Lease - l.margin)
	if !now.Before(h.until) {
		h.until = time.Time{}
		return false
	}
	h.token, h.taken, h.users = g.Token, now, 1
	h.kept, h.lose = context.WithCancelCause(context.Background())
	h.endWaitLocked(nil)
	h.eventLocked(lock.Event{Kind: lock.EventAcquired, Took: now.Sub(h.called)})
	l.poke() // until may be earlier than the keeper's timer
	return true
}

// refused ends a request without a lock.
func (h *Hold) refused(err error) {
	h.locker.mu.Lock()
	defer h.locker.tell()
	h.forgetLocked()
	h.endWaitLocked(err)
	h.eventLocked(lock.Event{Kind: lock.EventRefused, Took: h.locker.cfg.Now().Sub(h.called), Err: err})
}

// announce tells that the request waits, unless it was granted or has ended meanwhile.
func (h *Hold) announce() {
	h.locker.mu.Lock()
	defer h.locker.tell()
	if _, asked := h.locker.holds[h]; asked && h.taken.IsZero() {
		h.waiting = true
		h.eventLocked(lock.Event{Kind: lock.EventWaiting})
	}
}

func (h *Hold) endWaitLocked(err error) {
	if h.waiting {
		h.waiting = false
		h.eventLocked(lock.Event{Kind: lock.EventWaitEnded, Took: h.locker.cfg.Now().Sub(h.called), Err: err})
	}
}

func (h *Hold) forgetLocked() {
	if delete(h.locker.holds, h); len(h.locker.holds) == 0 {
		h.locker.poke() // the keeper ends
	}
}

// activeLocked reports whether the lock is held and was not lost.
func (h *Hold) activeLocked() bool { return h.users > 0 && h.lost == nil }

func (h *Hold) loseLocked(reason lock.Loss, cause error) {
	if !h.activeLocked() {
		return
	}
	h.lost = cause
	h.dropped = reason == lock.LossTaken || reason == lock.LossSession
	h.lose(cause)
	h.eventLocked(lock.Event{Kind: lock.EventLost, Took: h.locker.cfg.Now().Sub(h.taken), Err: cause, Loss: reason})
}

// checkLocked returns why the lock is lost. It reads the clock: after a stall of the process,
// a function may run before the keeper does.
func (h *Hold) checkLocked() error {
	if !h.activeLocked() {
		return h.lost
	}
	now := h.locker.cfg.Now()
	switch limit := h.limit(); {
	case !limit.IsZero() && !now.Before(limit):
		h.loseLocked(lock.LossMaxHold, fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, h.locker.cfg.MaxHold))
	case !now.Before(h.until):
		h.loseLocked(lock.LossExpired, fmt.Errorf("%w: it could not be renewed within its %v", rmw.ErrLockLost, h.locker.cfg.Lease))
	}
	return h.lost
}

func (h *Hold) check() error {
	h.locker.mu.Lock()
	defer h.locker.tell()
	return h.checkLocked()
}

// limit is when the lock was held for MaxHold; zero: never.
func (h *Hold) limit() time.Time {
	if h.locker.cfg.MaxHold == 0 {
		return time.Time{}
	}
	return h.taken.Add(h.locker.cfg.MaxHold)
}

// ends is when the service ends the lease, with the lock delay, unless it is renewed.
func (h *Hold) ends() time.Time { return h.until.Add(h.locker.cfg.LockDelay + h.locker.margin) }

// leave ends one function under the lock. The last one releases it: a lost lock only after its
// lock delay, since requests of the function may still be on their way. It returns why the lock
// was lost, if it was.
func (h *Hold) leave() error {
	l := h.locker
	l.mu.Lock()
	lost := h.checkLocked()
	last := h.users == 1
	if last && lost == nil {
		h.eventLocked(lock.Event{Kind: lock.EventReleased, Took: l.cfg.Now().Sub(h.taken)})
	}
	h.users--
	delay := time.Duration(0)
	if last {
		h.forgetLocked()
		h.lose(nil)
		if lost != nil && !h.dropped && l.delays {
			delay = h.ends().Sub(l.cfg.Now())
		}
	}
	l.tell()
	if last {
		released := l.release(h, delay)
		if delay <= 0 {
			t := time.NewTimer(l.cfg.Lease / 8)
			select {
			case <-released:
			case <-t.C:
			}
			t.Stop()
		}
		l.running.Done()
	}
	return lost
}
