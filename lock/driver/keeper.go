package driver

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// keep renews the leases and ends those that could not be renewed, while there are any.
func (l *Locker) keep() {
	var renewing chan struct{} // nil: no renewal is under way
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, due, more := l.advance(renewing != nil)
		if !more && renewing == nil {
			return
		}
		if due != nil {
			done := make(chan struct{})
			renewing = done
			go func() {
				defer close(done)
				l.renew(due)
			}()
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-renewing:
			renewing = nil
		}
	}
}

// advance ends overdue leases. It returns the time until the next event and, if they are to
// be renewed now, all holds that are not lost.
func (l *Locker) advance(renewing bool) (next time.Duration, due []*Hold, more bool) {
	l.mu.Lock()
	defer l.tell()
	now := l.cfg.Now()
	if !renewing && !now.Before(l.renewAt) && len(l.holds) > 0 {
		l.renewAt = now.Add(l.cfg.Lease / 3)
		for h := range l.holds {
			if h.taken.IsZero() || h.checkLocked() == nil { // a lost lock must end at the service, too
				due = append(due, h)
			}
		}
		slices.SortFunc(due, func(a, b *Hold) int { return a.called.Compare(b.called) })
	}
	at := l.renewAt
	if renewing {
		at = now.Add(l.cfg.Lease)
	}
	for h := range l.holds {
		if next := h.nextLocked(now); !next.IsZero() && next.Before(at) {
			at = next
		}
	}
	more = len(l.holds) > 0
	l.keeping = more || renewing
	return max(at.Sub(now), 0), due, more
}

// nextLocked ends the lease of h if it is over. It returns when to call it again; zero: not
// before the next renewal.
func (h *Hold) nextLocked(now time.Time) time.Time {
	ends := h.ends()
	switch limit := h.limit(); {
	case h.users == 0 || h.dropped:
		return time.Time{}
	case h.checkLocked() == nil && !limit.IsZero() && limit.Before(h.until):
		return limit
	case h.checkLocked() == nil:
		return h.until
	case now.Before(ends):
		return ends
	}
	h.dropped = true
	h.locker.release(h, 0) // a session may outlive the lease, while the function is stuck
	return time.Time{}
}

// renew prolongs leases with one call of the service.
func (l *Locker) renew(holds []*Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), max(l.cfg.Lease/4, time.Millisecond))
	defer cancel()
	sent := l.cfg.Now()
	err := l.service.Renew(ctx, holds)
	l.mu.Lock()
	defer l.tell()
	now := l.cfg.Now()
	again := err != nil
	for _, h := range holds {
		since, failed := sent, cmp.Or(err, h.failed)
		if !h.since.IsZero() && h.since.Before(sent) {
			since = h.since
		}
		h.since, h.failed = time.Time{}, nil
		again = again || failed != nil && h.activeLocked()
		switch {
		case !h.activeLocked() || h.checkLocked() != nil: // the process may have stopped since advance looked
		case failed != nil && h.jeopardy.IsZero():
			h.jeopardy = now
			h.eventLocked(lock.Event{Kind: lock.EventJeopardy, Err: failed})
		case failed == nil:
			if until := since.Add(l.cfg.Lease - l.margin); until.After(h.until) {
				h.until = until
			}
			if !h.jeopardy.IsZero() {
				h.eventLocked(lock.Event{Kind: lock.EventSafe, Took: now.Sub(h.jeopardy)})
				h.jeopardy = time.Time{}
			}
		}
	}
	// Meanwhile, Renew may have asked for the next renewal at once.
	if soon := now.Add(l.cfg.Lease / 16); again && soon.Before(l.renewAt) {
		l.renewAt = soon
	}
}

func (l *Locker) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
