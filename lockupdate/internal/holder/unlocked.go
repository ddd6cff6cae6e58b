package holder

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// With Config.LockOnDemand, a call runs without the lock if the lock is free and has no waiters.
// In this process it is in front of the wait queue all the same: the calls behind it wait.

const (
	// contendedFor is for how long updates of a key take the lock after contention.
	contendedFor = time.Second
	// maxContended bounds the memory for contended keys.
	maxContended = 4096
)

// EnterUnlocked reports whether the call may run without the lock, as far as this process
// knows. It waits for a release in flight, but no longer than for another poll. If so,
// LeaveUnlocked or UpdateContended must follow.
func (c *Call) EnterUnlocked() bool {
	if c.queues.isContended(c.lock) {
		return false
	}
	for {
		q := c.queues.queueOf(c.lock)
		q.mu.Lock()
		removed, free, release := q.removed, q.freeLocked(), (chan struct{})(nil)
		if free && !removed {
			c.state, c.queue, q.unlocked = unlocked, q, c
			release = q.awaitReleaseLocked()
		}
		q.mu.Unlock()
		switch {
		case removed:
			continue
		case release != nil: // else the look would find our own lock
			c.queues.wait(c.queues.options.Poll.Max, release, c.ctx.Done())
		}
		return free
	}
}

// CallUnlocked calls fn with a value that was read without the lock. It reports whether
// there is something to commit.
func (c *Call) CallUnlocked(given rmw.Value) (writes bool) {
	c.given = given
	c.callAlone(c.queues.keeper.EnterUnlocked(c.ctx, c.key.Name, c), (*Call).leaveUnlocked)
	c.endTaking()
	return c.err == nil && c.wrote
}

// LeaveUnlocked ends a call that ran without the lock. err is the error of op, if that
// failed.
func (c *Call) LeaveUnlocked(op string, err error) (rmw.Result, error) {
	c.leaveUnlocked()
	return c.answerAlone(op, err)
}

// leaveUnlocked goes on with the calls behind one that ran without the lock.
func (c *Call) leaveUnlocked() {
	c.endTaking()
	q := c.queue
	q.mu.Lock()
	if q.unlocked == c {
		q.unlocked = nil
	}
	if h := q.holder; h != nil {
		if !h.detachedLocked() && h.running == nil && len(h.batch.calls) == 0 {
			h.key = rmw.Key{} // its value may be from before the commit of c
		}
		h.wakeLocked()
	}
	q.mu.Unlock()
	c.leaveTaken()
	q.queues.removeIdle(q)
}

// LockName implements lease.Taker.
func (c *Call) LockName() string { return c.lock }

// TakeLock implements lease.Taker: it takes the lock while fn runs without it. If the key has changed since fn was
// given its value, fn runs again under the lock. The end of ctx ends the wait for the lock
// here, and not that of the update.
func (c *Call) TakeLock(ctx context.Context) (*lease.Lease, error) {
	c.queue.mu.Lock()
	t := c.taking
	if t == nil && c.state == unlocked && c.queue.unlocked == c {
		t = &taking{done: make(chan struct{})}
		c.taking = t
		c.queues.gate.Go(func() { c.take(t) })
	}
	c.queue.mu.Unlock()
	if t == nil {
		return nil, fmt.Errorf("%w: fn has run for longer than Config.MaxHold, or has returned", rmw.ErrLockLost)
	}
	select {
	case <-t.done:
		return t.lease, t.err
	case <-ctx.Done():
		return nil, redisx.EndOf(ctx)
	}
}

// take takes the lock for a critical section, in front of the calls behind c.
func (c *Call) take(t *taking) {
	defer close(t.done)
	for t.section == nil && t.err == nil {
		s := c.queues.newCall(c.ctx, c.key, c.lock)
		s.section, s.of, s.attempts = true, c, c.attempts
		t.section, t.err = s.enter()
		t.lease = s.lease
		c.waited, c.asked = c.waited+s.waited, s.asked
	}
	if t.err == nil {
		c.held.Attach(t.lease, c.key.Label, c.asked)
		c.entered = true
	}
}

// endTaking waits until the lock is taken, or the wait for it has ended, if fn has asked
// for a token. From then on, fn cannot.
func (c *Call) endTaking() {
	c.queue.mu.Lock()
	c.setLocked(returned)
	t := c.taking
	c.queue.mu.Unlock()
	if t != nil {
		<-t.done
		c.err = cmp.Or(c.err, t.err)
	}
}

// leaveTaken leaves the critical section, if fn has asked for a token.
func (c *Call) leaveTaken() {
	if t := c.taking; t != nil && t.section != nil {
		_, _ = t.section.Leave() // the guard tells whether the value is right
		t.section = nil
	}
}

// UpdateContended is UpdateUnderLock for a call that could not run without the lock. The updates
// of the key take the lock for a while, this one first. If fn has asked for a token, the call goes
// on in that critical section.
func (c *Call) UpdateContended() (rmw.Result, error) {
	for k, t := c.queues.keeper, c.taking; t != nil && k.Err(t.lease) == nil; {
		if !c.callAlone(k.Enter(c.caller(c.ctx), t.lease, false, c.asked), (*Call).leaveUnlocked) {
			return c.LeaveUnlocked("", nil)
		}
		if answered, err := c.CommitAlone(); answered {
			return c.LeaveUnlocked("commit", err)
		}
	}
	c.leaveTaken()
	c.queues.markContended(c.lock)
	return c.UpdateUnderLock()
}

// isContended reports whether updates of a key take the lock.
func (s *Queues) isContended(lock string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, contended := s.contended[lock]
	if contended && !time.Now().Before(until) {
		delete(s.contended, lock)
		return false
	}
	return contended
}

// markContended has the updates of a key take the lock for a while.
func (s *Queues) markContended(lock string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.contended) >= maxContended {
		clear(s.contended)
	}
	s.contended[lock] = time.Now().Add(contendedFor)
}
