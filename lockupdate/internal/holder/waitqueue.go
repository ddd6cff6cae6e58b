package holder

import (
	"cmp"
	"math"
	"sync"
	"time"
)

// micros is a duration in microseconds. With a time.Duration instead, a waitQueue would take
// 112 bytes of memory, and not 96.
type micros uint32

func microsOf(d time.Duration) micros { return micros(min(d.Microseconds(), math.MaxUint32)) }

func (m micros) duration() time.Duration { return time.Duration(m) * time.Microsecond }

// waitQueue is the calls of this process that wait for one lock. In front of them at most
// one holder asks for the lock or holds it: however many calls wait, one polls.
type waitQueue struct {
	queues *Queues
	lock   string

	mu           sync.Mutex
	first, last  *Call
	unlocked     *Call         // its fn runs without the lock
	holder       *holder       // nil: the lock is not held, and not asked for
	releasing    *holder       // its release is in flight; nil: none
	backoffUntil time.Duration // other processes wait: do not ask for the lock before
	usualWait    micros        // for the lock, while other processes wait as well; 0: unknown
	unpipelined  uint8         // so many more commits are not overlapped by a slow fn
	removed      bool          // from Queues
}

// joinLocked puts c at the end of the queue, or in front of it if the calls wait for c. It returns
// false if c would have to wait and must not.
func (q *waitQueue) joinLocked(c *Call) bool {
	h := q.holder
	if c.noWait && (q.first != nil || q.unlocked != nil || h != nil && !h.idleLocked()) {
		return false
	}
	c.queue = q
	switch ahead := q.unlocked; {
	case ahead != nil && (ahead == c || ahead == c.of):
		if ahead == c {
			q.unlocked = nil
		}
		q.pushFrontLocked([]*Call{c})
		if h != nil {
			h.wakeLocked()
		}
	case q.first != nil || ahead != nil || h != nil && h.busyLocked():
		if c.blockedSince = c.arrived; c.attempts > 0 {
			c.blockedSince = time.Now()
		}
		fallthrough
	default:
		c.setLocked(queued)
		q.pushLocked(c)
	}
	if h == nil {
		q.startLocked()
		return true
	}
	h.dispatchLocked()
	if c.state == queued && h.idleLocked() {
		h.wakeLocked()
	}
	return true
}

// runsUnlockedLocked reports whether a call runs without the lock, and does not ask for it, so
// that no other call runs.
func (q *waitQueue) runsUnlockedLocked() bool {
	return q.unlocked != nil && (q.first == nil || q.first.of != q.unlocked)
}

// startLocked starts a holder, from within a call that the gate has admitted.
func (q *waitQueue) startLocked() {
	q.holder = newHolder(q)
	q.queues.gate.Go(q.holder.run)
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
