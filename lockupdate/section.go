package lockupdate

import "time"

// A section is a turn that is no update: whoever holds it does what it likes, for as
// long as it likes, and the tenure has no goroutine meanwhile. So a hundred thousand
// locks can be held without as many goroutines.

// enterSection gives the first in the line, who wants a section, its turn. The
// tenure goes on with leaveSection. t.mu is held.
func (t *tenure) enterSection() {
	u := t.first
	t.remove(u)
	t.turns++
	u.waited, u.blocked = u.waitedBy(), time.Time{}
	u.phase, u.lease = running, t.lease
	t.running, t.work = u, nil // and the value is no longer known: it may be written meanwhile
	u.wake <- struct{}{}
}

// leaveSection goes on with the line.
func (t *tenure) leaveSection() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parked() { // or else the lock was lost, and the tenure has ended
		t.unpark(t.resume)
	}
}

// unpark has the tenure go on with a goroutine. t.mu is held.
func (t *tenure) unpark(do func()) {
	t.running, t.work = nil, newWork()
	t.gate.Go(do)
}

// loseLease ends the tenure of whoever has the turn. The watchdog calls it.
func (t *tenure) loseLease(cause error) {
	t.note(Event{Kind: EventLost, Lock: t.lock, N: 1, Err: cause})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
	if !t.parked() {
		t.look()
		return
	}
	if t.running != nil {
		t.running.phase = adrift
	}
	t.over = true
	t.unpark(t.finish)
}
