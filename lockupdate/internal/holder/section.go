package holder

// enterSectionLocked gives the first call, one of Lock, its critical section. The holder is
// detached: its goroutine ends, and LeaveSection or LeaseLost starts another one.
func (h *holder) enterSectionLocked() {
	h.turns++
	h.startLocked(h.queue.first)
	h.holderState = nil // the value may be written meanwhile
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
	h.over, h.queue.unlocked = true, nil // the section was that of the call without the lock, if there is one
	h.attachLocked(h.finish)
}
