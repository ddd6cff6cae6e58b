package lockupdate

import (
	"cmp"
	"sync"
	"time"
)

// queue is the line of this process before one lock, first come, first served. In
// front of it at most one tenure asks for the lock or holds it: however many wait,
// the lock is polled once.
type queue struct {
	*Store
	lock string

	mu          sync.Mutex
	first, last *update
	tenure      *tenure       // nil: nobody has the lock, nor asks for it
	releasing   string        // the owner whose release is on its way, if any
	landed      chan struct{} // closed with the answer to that release, if others may wait for the lock
	awayUntil   time.Time     // they do, so let them
	gone        bool          // out of the Store's map: use another one
}

// join puts u at the end of the line for lock, unless it would have to wait and does
// not want to.
func (s *Store) join(lock string, u *update) bool {
	for {
		q := s.queueOf(lock)
		q.mu.Lock()
		if q.gone {
			q.mu.Unlock()
			continue
		}
		if u.noWait && (q.first != nil || q.tenure != nil && !q.tenure.idles()) {
			q.mu.Unlock()
			return false
		}
		u.queue = q
		if q.first != nil || q.tenure != nil && q.tenure.busy() {
			if u.blocked = u.arrived; u.attempts > 0 {
				u.blocked = time.Now()
			}
		}
		q.push(u)
		if q.tenure == nil {
			q.start()
		} else {
			q.tenure.advance()
			if u.phase == queued && q.tenure.idles() {
				q.tenure.look()
			}
		}
		q.mu.Unlock()
		return true
	}
}

func (s *Store) queueOf(lock string) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[lock]
	if q == nil {
		q = &queue{Store: s, lock: lock}
		s.queues[lock] = q
	}
	return q
}

// start begins a tenure. q.mu is held, by work that the gate knows of.
func (q *queue) start() {
	q.tenure = newTenure(q)
	q.gate.Go(q.tenure.run)
}

// forget takes an idle queue out of the Store's map.
func (q *queue) forget() {
	q.Store.mu.Lock()
	defer q.Store.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tenure == nil && q.first == nil && q.releasing == "" && !time.Now().Before(q.awayUntil) && !q.gone {
		q.gone = true
		delete(q.queues, q.lock)
	}
}

// push and the following need q.mu.
func (q *queue) push(u *update) {
	u.phase = queued
	u.prev, u.next = q.last, nil
	if q.last == nil {
		q.first = u
	} else {
		q.last.next = u
	}
	q.last = u
}

// pushFront puts those back who must run again.
func (q *queue) pushFront(again []*update) {
	for i := len(again) - 1; i >= 0; i-- {
		u := again[i]
		u.phase = queued
		u.prev, u.next = nil, q.first
		if q.first == nil {
			q.last = u
		} else {
			q.first.prev = u
		}
		q.first = u
	}
}

func (q *queue) remove(u *update) {
	if u.prev == nil {
		q.first = u.next
	} else {
		u.prev.next = u.next
	}
	if u.next == nil {
		q.last = u.prev
	} else {
		u.next.prev = u.prev
	}
	u.prev, u.next = nil, nil
}

// block notes that everybody in the line waits for another process, from now on.
func (q *queue) block(now time.Time) {
	for u := q.first; u != nil; u = u.next {
		if u.blocked.IsZero() {
			u.blocked = now
		}
	}
}

// refuse answers all calls in the line, or, if of is not nil, those that of selects. op
// is what failed; if it is empty, that is the way to the lock.
func (q *queue) refuse(op string, err error, of func(*update) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for u := q.first; u != nil; {
		next := u.next
		if of == nil || of(u) {
			q.remove(u)
			u.answer(u.result(), u.fail(cmp.Or(op, u.op()), err))
		}
		u = next
	}
}
