package holder

import (
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
)

// finish releases the lock, and leaves the waiting calls to the next holder.
func (h *holder) finish() {
	q := h.queue
	q.mu.Lock()
	h.over = true
	q.holder = nil
	owes := h.lease != nil || !h.lateAcquire.IsZero()
	if owes {
		q.releasing = h.owner
	}
	if h.lease != nil && (h.yield || h.contended) {
		h.released = make(chan struct{})
		q.released = h.released
	}
	if q.first != nil {
		q.startLocked()
	}
	q.mu.Unlock()
	if owes {
		h.giveBack()
	}
	h.queues.removeIdle(q)
}

// giveBack releases a lock that is ours, or that may become ours when a late acquire runs:
// then it releases again, until a lease after that was sent.
func (h *holder) giveBack() {
	lease, gate := h.queues.options.Lease, h.queues.gate
	if h.lease != nil {
		h.lease.End()
		h.queue.mu.Lock()
		competes := h.turns <= 1 || h.yield || h.contended
		h.queue.mu.Unlock()
		if competes {
			h.queues.estimates.Observe(h.label, time.Since(h.began))
		}
	}
	sent := time.Now()
	gap, err := h.release()
	schedule := h.schedule()
	schedule.Hold = h.queues.estimates.Expected(h.label)
	if err != nil && gate.Closed() {
		h.queues.addUnreleased(h.queue.lock, err)
	}
	h.queue.mu.Lock()
	if h.released != nil {
		close(h.released)
	}
	if h.queue.releasing == h.owner {
		h.queue.releasing = 0
		if released := h.queue.released; released != nil && released != h.released {
			close(released)
		}
		h.queue.released = nil
	}
	if gap > 0 {
		gap = schedule.Away(gap, time.Since(sent), transport.Jitter())
		h.queue.backoffUntil, h.queue.usualWait = time.Now().Add(gap), schedule.Wait
	} else {
		h.queue.usualWait = 0
	}
	h.queue.mu.Unlock()
	for d := lease / 16; time.Since(h.lateAcquire) < lease && gate.Open(d); d *= 2 {
		_, _ = h.release()
	}
	if gap > 0 {
		gate.Open(gap + time.Millisecond) // the queue remembers backoffUntil until then
	}
}

// release asks until it is answered, a few times at most; after that the lock ends with
// its lease. The command touches the lock of its own owner only. hint is the time within
// which another process polls again; 0: none waits.
func (h *holder) release() (hint time.Duration, err error) {
	t := h.queues.transport
	began := time.Now()
	h.givenBack.Store(true)
	for try := 1; ; try++ {
		cmds := []*driver.Command{t.Driver.Release(h.queue.lock, h.ownerName())}
		readHint := t.Driver.ReadHint(h.queue.lock)
		if readHint != nil {
			cmds = append(cmds, readHint)
		}
		if h.hinted != nil {
			cmds = append(cmds, t.Driver.ClearHint(*h.hinted))
		}
		t.Send(h.ctx, cmds...)
		_, hint, err = t.Driver.Owned(cmds[0])
		if readHint != nil {
			hint = t.Driver.Hint(h.ownerName(), readHint)
		}
		if redisx.OutcomeOf(err) == redisx.Done || try == transport.Tries || time.Since(began) > h.queues.options.Lease ||
			t.Pause(h.ctx, try) != nil {
			return hint, err
		}
	}
}
