package holder

import "time"

func (h *holder) run() {
	if h.acquire() {
		h.resume()
	} else {
		h.finish()
	}
}

// resume serves the queue, also after a critical section.
func (h *holder) resume() {
	if h.serve() {
		h.finish()
	}
}

// finish releases the lock, and leaves the waiting calls to the next holder.
func (h *holder) finish() {
	q := h.queue
	kept := h.keptForDelay()
	q.mu.Lock()
	h.over = true
	q.holder = nil
	owes := !kept && (h.lease != nil || h.lateUntil != 0)
	if owes {
		q.releasing = h
	}
	if owes && h.lease != nil && (h.yield || h.contended) {
		h.released = make(chan struct{})
	}
	if q.first != nil {
		q.startLocked()
	}
	q.mu.Unlock()
	switch {
	case owes:
		h.giveBack()
	case kept:
		h.queues.keeper.End(h.lease)
	}
	h.queues.removeIdle(q)
}

// startLocked starts a holder, from within a call that the gate has admitted.
func (q *waitQueue) startLocked() {
	q.holder = newHolder(q)
	q.queues.gate.Go(q.holder.run)
}

// step is the next step of a holder.
type step uint8

const (
	stop    step = iota // release the lock
	detach              // a critical section begins; it goes on later
	commit              // commit the batch
	lingers             // wait for further calls to join the batch
	wait                // wait for the running fn
	idle                // wait for a call, for Config.Linger
	ask                 // ask whether other processes wait
	read                // read the value of the first call
)

// serve dispatches calls and commits until no call waits, or other processes should have
// the lock. It returns false at a critical section, after which resume goes on.
func (h *holder) serve() (finished bool) {
	for {
		h.queue.mu.Lock()
		do, left := h.nextLocked()
		h.over = do == stop
		h.queue.mu.Unlock()
		switch do {
		case stop:
			return true
		case detach:
			return false
		case commit:
			h.commit()
		case lingers, idle:
			h.queues.wait(left, nil, h.woken)
		case wait:
			<-h.woken
		case ask:
			h.ask()
		case read:
			h.read()
		}
	}
}

// nextLocked decides what to do now, and for how long if that is to wait.
func (h *holder) nextLocked() (do step, left time.Duration) {
	h.dispatchLocked()
	calls, first := len(h.batch.calls), h.queue.first
	switch {
	case calls > 0 && (h.running == nil || h.lost):
		return commit, 0
	case calls > 0:
		if left = linger - time.Since(h.batch.began); left <= 0 {
			return commit, 0
		}
		return lingers, left
	case h.running != nil && h.lost:
		h.running.setLocked(orphaned)
		h.running = nil
		return stop, 0
	case h.queue.unlocked != nil && h.lost: // its fn runs for longer than Config.MaxHold
		h.queue.unlocked = nil
		return stop, 0
	case h.running != nil || h.queue.unlocked != nil:
		return wait, 0
	case h.lost || h.yield:
		return stop, 0
	case first == nil:
		if left = h.lingerLocked(); left <= 0 {
			return stop, 0
		}
		return idle, left
	case h.turns > 0 && h.mustAskLocked():
		return ask, 0
	case h.yield:
		return stop, 0
	case first.section:
		h.enterSectionLocked()
		return detach, 0
	}
	return read, 0 // the first call was not dispatched, so its value is missing
}

// attachLocked gives the holder a goroutine again.
func (h *holder) attachLocked(do func()) {
	h.running, h.holderState = nil, newState()
	h.queues.gate.Go(do)
}

// LeaveSection implements lease.Holder.
func (h *holder) LeaveSection() {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	if h.detachedLocked() { // else the lock was lost, and the holder has ended
		h.attachLocked(h.resume)
	}
}

// LeaseLost implements lease.Holder.
func (h *holder) LeaseLost() {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.lost = true
	if !h.detachedLocked() {
		h.wakeLocked()
		return
	}
	if h.running != nil {
		h.running.setLocked(orphaned)
	}
	h.over = true
	h.attachLocked(h.finish)
}
