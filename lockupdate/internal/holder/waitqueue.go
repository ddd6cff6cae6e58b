package holder

import (
	"cmp"
	"time"
)

// freeLocked reports whether no call of this process has the lock or waits for it.
func (q *waitQueue) freeLocked() bool {
	return q.holder == nil && q.first == nil && q.unlocked == nil && q.queues.keeper.Now() >= q.backoffUntil
}

// runsUnlockedLocked reports whether a call runs without the lock, and does not ask for it, so
// that no other call runs.
func (q *waitQueue) runsUnlockedLocked() bool {
	return q.unlocked != nil && (q.first == nil || q.first.of != q.unlocked)
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

func (q *waitQueue) pushLocked(c *Call) {
	c.prev, c.next = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.next = c
	}
	q.last = c
}

// pushFrontLocked puts calls back that must run again, in their order.
func (q *waitQueue) pushFrontLocked(calls []*Call) {
	for i := len(calls) - 1; i >= 0; i-- {
		c := calls[i]
		c.setLocked(queued)
		c.prev, c.next = nil, q.first
		if q.first == nil {
			q.last = c
		} else {
			q.first.prev = c
		}
		q.first = c
	}
}

func (q *waitQueue) removeLocked(c *Call) {
	if c.prev == nil {
		q.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		q.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
}

// blockLocked records that all calls wait for another process from now on.
func (q *waitQueue) blockLocked(now time.Time) {
	for c := q.first; c != nil; c = c.next {
		if c.blockedSince.IsZero() {
			c.blockedSince = now
		}
	}
}

// head returns the first call, or nil.
func (q *waitQueue) head() *Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.first
}

// refuse answers the calls that match with an error; a nil match is all. op is what failed,
// by default the acquire.
func (q *waitQueue) refuse(op string, err error, match func(*Call) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := q.first; c != nil; {
		next := c.next
		if match == nil || match(c) {
			q.removeLocked(c)
			c.answerLocked(c.failure(), c.fail(cmp.Or(op, c.op()), err))
		}
		c = next
	}
}
