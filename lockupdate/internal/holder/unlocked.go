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
// knows; it waits for a release in flight. If so, LeaveUnlocked, FinishToken or UpdateContended
// must follow.
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
			c.awaitRelease(release)
		}
		return free
	}
}

// freeLocked reports whether no call of this process has the lock or waits for it.
func (q *waitQueue) freeLocked() bool {
	return q.holder == nil && q.first == nil && q.unlocked == nil && q.queues.keeper.Now() >= q.backoffUntil
}

// awaitReleaseLocked returns a channel that is closed at the reply to the release in
// flight, or nil if there is none.
func (q *waitQueue) awaitReleaseLocked() chan struct{} {
	h := q.releasing
	if h == nil {
		return nil
	}
	if h.released == nil {
		h.released = make(chan struct{})
	}
	return h.released
}

// awaitRelease waits for the reply to a release, but no longer than for another poll.
func (c *Call) awaitRelease(released <-chan struct{}) {
	t := time.NewTimer(c.queues.options.Poll.Max)
	defer t.Stop()
	select {
	case <-released:
	case <-t.C:
	case <-c.ctx.Done():
	case <-c.queues.gate.Closing:
	}
}

// CallUnlocked calls fn with a value that was read without the lock. It reports whether
// there is something to commit.
func (c *Call) CallUnlocked(given rmw.Value) (writes bool) {
	c.given = given
	c.attempts++
	c.held = c.queues.keeper.EnterUnlocked(c.ctx, c.key.Name, c)
	c.callFn()
	return c.err == nil && c.wrote
}

// AskedForToken reports whether fn has asked for a token, so that FinishToken must follow.
func (c *Call) AskedForToken() bool {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.taking != nil
}

// CommitUnlocked writes the value of fn. It reports whether the call is answered: if not,
// the key has changed since it was read.
func (c *Call) CommitUnlocked() (answered bool, err error) {
	res, err := c.commitAlone()
	switch {
	case err != nil || res.Stored:
		return true, err
	case c.held.Overdue() != nil:
		return true, c.held.Overdue()
	case c.attempts >= c.queues.options.MaxAttempts:
		return true, rmw.ErrContended
	}
	return false, nil
}

// LeaveUnlocked ends a call that ran without the lock. err is the error of op, if that
// failed.
func (c *Call) LeaveUnlocked(op string, err error) (rmw.Result, error) {
	c.queue.leaveUnlocked(c)
	switch {
	case err != nil:
		return c.failure(), c.unknown(c.fail(op, redisx.Blame(c.ctx, err)))
	case c.err != nil:
		return c.failure(), c.err
	}
	return c.success(), nil
}

// leaveUnlocked goes on with the calls behind one that ran without the lock.
func (q *waitQueue) leaveUnlocked(c *Call) {
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
	q.queues.removeIdle(q)
}

// takeLocked has a call that ran without the lock, or is about to, take the lock: in front
// of the calls that joined behind it.
func (c *Call) takeLocked() (queued bool) {
	q := c.queue
	if q.unlocked != c { // it ran for longer than Config.MaxHold
		return false
	}
	q.unlocked = nil
	c.blockedSince = time.Now()
	q.pushFrontLocked([]*Call{c})
	if q.holder == nil {
		q.startLocked()
	} else {
		q.holder.dispatchLocked()
		q.holder.wakeLocked()
	}
	return true
}

// taking is a call of Token within an fn that runs without the lock.
type taking struct {
	done chan struct{} // closed with err
	err  error
}

// LockName implements lease.Taker.
func (c *Call) LockName() string { return c.lock }

// TakeLock implements lease.Taker: it takes the lock while fn runs without it. If the key has changed since fn was
// given its value, fn runs again under the lock. The end of ctx ends the wait for the lock
// here, and not that of the update.
func (c *Call) TakeLock(ctx context.Context) (*lease.Lease, error) {
	c.queue.mu.Lock()
	t := c.taking
	if t == nil {
		t = &taking{done: make(chan struct{})}
		c.taking = t
		if c.takeLocked() {
			c.queues.gate.Go(func() { c.take(t) })
		} else {
			t.err = fmt.Errorf("%w: fn has run for longer than Config.MaxHold", rmw.ErrLockLost)
			close(t.done)
		}
	}
	c.queue.mu.Unlock()
	select {
	case <-t.done:
		return c.lease, t.err
	case <-ctx.Done():
		return nil, redisx.EndOf(ctx)
	}
}

// take waits for the lock.
func (c *Call) take(t *taking) {
	defer close(t.done)
	if c.start() == left {
		t.err = c.err
		return
	}
	c.held.Attach(c.lease, c.key.Label, c.asked)
	c.entered = true
}

// awaitTaking waits until the lock is taken, or the wait for it has ended, if fn has asked
// for a token.
func (c *Call) awaitTaking() {
	c.queue.mu.Lock()
	t := c.taking
	c.queue.mu.Unlock()
	if t != nil {
		<-t.done
	}
}

// FinishToken goes on with a call after its fn asked for a token: under the lock, if it could be taken.
func (c *Call) FinishToken() (rmw.Result, error) {
	c.queue.mu.Lock()
	t, ended := c.taking, c.state == left
	c.taking = nil
	c.queue.mu.Unlock()
	switch {
	case ended: // the wait for the lock has
		return c.failure(), cmp.Or(c.err, t.err)
	case t.err == nil && (c.queue.complete(c) || !c.commitOrphaned()):
		return c.goOn()
	case t.err == nil:
		return c.result, c.unknown(c.err)
	case c.err != nil || !c.wrote:
		return c.LeaveUnlocked("", nil)
	}
	if answered, err := c.CommitUnlocked(); answered {
		return c.LeaveUnlocked("commit", err)
	}
	return c.UpdateContended()
}

// UpdateUnderLock calls fn under the lock, and writes its value.
func (c *Call) UpdateUnderLock() (rmw.Result, error) {
	c.queues.join(c)
	return c.goOn()
}

// UpdateContended is UpdateUnderLock for a call that could not run without the lock. The updates
// of the key take the lock for a while, this one first.
func (c *Call) UpdateContended() (rmw.Result, error) {
	c.queues.markContended(c.lock)
	c.queue.mu.Lock()
	inFront := c.takeLocked()
	if !inFront {
		c.setLocked(queued)
	}
	c.queue.mu.Unlock()
	if !inFront {
		c.queues.join(c)
	}
	return c.goOn()
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
