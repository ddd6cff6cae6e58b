package holder

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
)

// NewQueues returns the Queues of a Store.
func NewQueues(t *transport.Transport, v *values.Values, k *lease.Keeper, gate *redisx.Gate, emit event.Sink, o Options) *Queues {
	return &Queues{
		options: o, transport: t, values: v, keeper: k, gate: gate, emit: emit, ownerIDs: driver.NewOwnerIDs(),
		byLock: map[string]*waitQueue{}, contended: map[string]time.Time{},
	}
}

// timer returns a timer, to be given to stop: each wait needs one, so that a new one would be garbage.
func (s *Queues) timer(d time.Duration) *time.Timer {
	t, ok := s.timers.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	t.Reset(d)
	return t
}

func (s *Queues) stop(t *time.Timer) {
	t.Stop()
	s.timers.Put(t)
}

// wait waits for d, for over, for woken, or until the Store is closed. It reports whether it was
// woken.
func (s *Queues) wait(d time.Duration, over, woken <-chan struct{}) bool {
	closing := s.gate.Closing
	if s.gate.Closed() {
		closing = nil // the calls that are left go on
	}
	t := s.timer(d)
	defer s.stop(t)
	select {
	case <-t.C:
	case <-over:
	case <-closing:
	case <-woken:
		return true
	}
	return false
}

// Unreleased tells of locks that could not be released while closing.
func (s *Queues) Unreleased() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unreleased
}

func (s *Queues) addUnreleased(lock string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreleased = errors.Join(s.unreleased, fmt.Errorf("lockupdate: the lock %.128q is not released and ends with its lease, within %v: %w",
		lock, s.options.Expiry, err))
}

func (s *Queues) queueOf(lock string) *waitQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.byLock[lock]
	if q == nil {
		q = &waitQueue{queues: s, lock: lock}
		s.byLock[lock] = q
	}
	return q
}

// removeIdle removes a queue that has nothing to do or to remember.
func (s *Queues) removeIdle(q *waitQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.freeLocked() && q.releasing == nil && !q.removed {
		q.removed = true
		delete(s.byLock, q.lock)
	}
}

// Busy reports whether a lock is held, or its release is in flight.
func (s *Queues) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.byLock {
		q.mu.Lock()
		busy := q.holder != nil || q.releasing != nil
		q.mu.Unlock()
		if busy {
			return true
		}
	}
	return false
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
		c.taken = true
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
