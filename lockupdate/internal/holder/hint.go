package holder

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
)

// A waiting process leaves a wait hint, and the holder of the lock reads it: with a renewal
// if the lock itself has the hint, and else with a command of its own.

// setHint leaves a hint beside the lock. It may arrive after we got the lock and released
// it, and then no other process deletes it: then it is cleared again.
func (h *holder) setHint(r driver.AcquireRequest) {
	t := h.queues.transport
	set := t.Driver.SetHint(r)
	if set != nil && h.sendAside(set, func() {
		if h.givenBack.Load() {
			t.Send(context.Background(), t.Driver.ClearHint(r))
		}
	}) {
		h.hinted = &r
	}
}

// ask asks whether other processes wait.
func (h *holder) ask() {
	h.readHint()
	renewal, sent := h.queues.keeper.Renewal(h), h.queues.keeper.Now()
	h.queues.transport.Send(context.Background(), renewal)
	h.renewed(sent, renewal)
}

// renewed takes the reply to a renewal.
func (h *holder) renewed(sent time.Duration, renewal *driver.Command) {
	owned, hint, err := h.queues.transport.Driver.Owned(renewal)
	lost := h.queues.keeper.Renewed(h.lease, sent, owned, err)
	if owned {
		h.queues.emit(event.Event{Kind: event.Renewed, N: 1, Took: h.queues.keeper.Now() - sent})
	}
	if hint > 0 {
		h.queues.keeper.Wanted(h.lease)
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.checked = h.queues.keeper.Now()
	h.lost = h.lost || lost != nil
	h.yield = h.yield || hint > 0
}

// readHint looks for a hint beside the lock.
func (h *holder) readHint() {
	t := h.queues.transport
	c := t.Driver.ReadHint(h.queue.lock)
	if c == nil {
		return
	}
	h.sendAside(c, func() {
		if t.Driver.Hint(h.Owner(), c) > 0 {
			h.queues.keeper.Wanted(h.lease)
			h.queue.mu.Lock()
			h.yield = true
			h.wakeLocked()
			h.queue.mu.Unlock()
		}
	})
}

// sendAside sends a command that no call waits for, and calls then after the reply. It
// returns false while the one before is in flight.
func (h *holder) sendAside(c *driver.Command, then func()) bool {
	if !h.asideInFlight.CompareAndSwap(false, true) {
		return false
	}
	h.queues.gate.Go(func() {
		defer h.asideInFlight.Store(false)
		h.queues.transport.Send(context.Background(), c)
		then()
	})
	return true
}
