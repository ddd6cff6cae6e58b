package holder

import "time"

// dispatchLocked has the first call run its fn, if it can now.
func (h *holder) dispatchLocked() {
	c := h.queue.first
	if h.lease == nil || h.over || h.takenLocked() || c == nil || !h.canBatchLocked(c) {
		return
	}
	h.startLocked(c)
	h.dispatched, h.invalid, h.idleSince = time.Now(), false, time.Time{}
	c.attempts++
	c.given = h.batch.value
}

// startLocked gives the first call its turn.
func (h *holder) startLocked(c *Call) {
	h.queue.removeLocked(c)
	c.waited, c.blockedSince = c.waitedFor(), time.Time{}
	c.setLocked(running)
	c.lease, h.running = h.lease, c
	c.wake <- struct{}{}
}

// enterSectionLocked gives the first call, one of Lock, its critical section. The holder is
// detached: its goroutine ends, and LeaveSection or LeaseLost starts another one.
func (h *holder) enterSectionLocked() {
	h.turns++
	h.startLocked(h.queue.first)
	h.holderState = nil // the value may be written meanwhile
}

// canBatchLocked reports whether c's fn may run on the value of the batch.
func (h *holder) canBatchLocked(c *Call) bool {
	switch calls := len(h.batch.calls); {
	case h.lost || c.section || h.key.Name != c.key.Name || h.key.Kind != c.key.Kind:
		return false
	case calls == 0 && !h.inFlight:
		return !h.yield
	case h.queues.options.NoCombining || h.unbatched || h.yield || calls >= maxBatch:
		return false
	case h.queue.unpipelined > 0 && time.Since(h.dispatched) > linger: // the last fn was slow
		return false
	default:
		return calls == 0 || time.Since(h.batch.began) < linger
	}
}

// complete takes the result of fn, and dispatches the next call. It returns false if
// the call was orphaned.
func (c *Call) complete() bool {
	q := c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.state == orphaned {
		return false
	}
	h := q.holder
	h.running = nil
	if h.invalid {
		h.requeueLocked([]*Call{c})
	} else {
		c.setLocked(returned)
		h.batch.add(c)
	}
	h.dispatchLocked()
	if h.running == nil || len(h.batch.calls) == 1 {
		h.wakeLocked() // to commit, or to bound the wait of the batch
	}
	return true
}

// abandon goes on without a call after a panic, or a Goexit, of its fn.
func (c *Call) abandon() {
	q := c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.state == orphaned {
		return
	}
	c.setLocked(left)
	q.holder.running = nil
	q.holder.dispatchLocked()
	q.holder.wakeLocked()
}

// requeueLocked puts calls back after their fn ran on a value that was never stored, unless
// they have used up their attempts.
func (h *holder) requeueLocked(calls []*Call) {
	again := calls[:0:0]
	for _, c := range calls {
		switch {
		case c.state == left:
		case c.attempts >= h.queues.options.MaxAttempts:
			c.answerLocked(c.failure(), c.fail("commit", errTooMany(c.attempts)))
		default:
			again = append(again, c)
		}
	}
	h.queue.pushFrontLocked(again)
}
