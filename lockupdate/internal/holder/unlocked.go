package holder

import (
	"time"

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
	return c.callAlone(c.queues.keeper.EnterUnlocked(c.ctx, c.key.Name, c), (*Call).leaveUnlocked)
}

// LeaveUnlocked ends a call that ran without the lock. err is the error of op, if that
// failed.
func (c *Call) LeaveUnlocked(op string, err error) (rmw.Result, error) {
	c.leaveUnlocked()
	return c.answerAlone(op, err)
}

// leaveUnlocked goes on with the calls behind one that ran without the lock.
func (c *Call) leaveUnlocked() {
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
	q.queues.removeIdle(q)
}

// LockName is the name of the lock.
func (c *Call) LockName() string { return c.lock }

// UpdateContended is UpdateUnderLock for a call that could not run without the lock. The updates
// of the key take the lock for a while, this one first.
func (c *Call) UpdateContended() (rmw.Result, error) {
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
