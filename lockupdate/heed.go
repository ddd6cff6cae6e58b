package lockupdate

import (
	"context"
	"time"
)

// How the holder of a lock learns that other processes wait for it: by a renewal, where
// the lock has room for their note, and else by a look at the note beside it.

// renewal prolongs the lease, and its answer may tell whether others wait.
func (t *tenure) renewal() *call {
	return t.dialect.renew(t.lock, t.owner, t.cfg.Lease)
}

// ask asks whether others wait.
func (t *tenure) ask() {
	t.heed()
	c, sent := t.renewal(), t.watchdog.now()
	t.flights.send(t.ctx, c)
	t.heard(sent, c)
}

// heard takes in the answer to a renewal.
func (t *tenure) heard(sent time.Duration, renewal *call) {
	held, note, err := t.dialect.answer(renewal)
	lost := t.watchdog.renewed(t.lease, sent, held, err)
	if held {
		t.note(Event{Kind: EventRenewed, N: 1, Took: t.watchdog.now() - sent})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked = time.Now()
	t.lost = t.lost || lost
	t.yield = t.yield || note > 0
}

// heed looks for the note of those who wait, where it is not in the lock.
func (t *tenure) heed() {
	c := t.dialect.heed(t.lock)
	t.aside(c, func() {
		if t.dialect.heeded(t.owner, c) > 0 {
			t.mu.Lock()
			t.yield = true
			t.look()
			t.mu.Unlock()
		}
	})
}

// aside sends a call, if there is one, for which nobody waits, and calls then with the
// answer; unless the one before is still on its way. It reports whether it sends it.
func (t *tenure) aside(c *call, then func()) bool {
	if c == nil || !t.busyAside.CompareAndSwap(false, true) {
		return false
	}
	t.gate.Go(func() {
		defer t.busyAside.Store(false)
		t.flights.send(context.Background(), c)
		then()
	})
	return true
}
