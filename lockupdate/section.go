package lockupdate

import (
	"time"

	"github.com/unwatch/unwatch/rmw"
)

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
	t.running, t.parked, t.idleSince = u, true, time.Time{}
	t.key = rmw.Key{} // it may be written meanwhile
	u.wake <- struct{}{}
}

// leaveSection goes on with the line.
func (t *tenure) leaveSection() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.parked { // the lock was lost, and the tenure has ended
		return
	}
	t.parked = false
	t.gate.Go(t.resume)
}

// loseLease ends the tenure of whoever has the turn. The watchdog calls it.
func (t *tenure) loseLease(cause error) {
	t.note(Event{Kind: EventLost, Lock: t.lock, N: 1, Err: cause})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
	if !t.parked {
		t.look()
		return
	}
	if t.running != nil {
		t.running.phase = adrift
	}
	t.running, t.parked, t.over = nil, false, true
	t.gate.Go(t.finish)
}
