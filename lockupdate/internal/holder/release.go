package holder

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
)

// keptForDelay reports whether the lock was lost, so that it stays on the server for the rest of
// its lease and for Config.LockDelay: a function may still run under it.
func (h *holder) keptForDelay() bool {
	return h.lease != nil && h.queues.options.LockDelay > 0 && h.queues.keeper.Err(h.lease) != nil
}

// giveBack releases a lock that is ours, or that may become ours when a late acquire runs:
// then it releases again, until a lease after that was sent, or after Close as soon as it has run. It
// closes released, if that is not nil, at the reply.
func (h *holder) giveBack() {
	gate, keeper := h.queues.gate, h.queues.keeper
	if h.lease != nil {
		keeper.End(h.lease)
		h.queue.mu.Lock()
		competes := h.turns <= 1 || h.yield || h.contended
		h.queue.mu.Unlock()
		if competes {
			h.queues.estimates.Observe(h.label, keeper.Now()-h.began)
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
	if h.queue.releasing == h {
		h.queue.releasing = nil
	}
	if gap > 0 {
		gap = schedule.Away(gap, time.Since(sent), transport.Jitter())
		h.queue.backoffUntil, h.queue.usualWait = keeper.Now()+gap, microsOf(schedule.Wait)
	} else {
		h.queue.usualWait = 0
	}
	h.queue.mu.Unlock()
	for d := h.queues.options.Expiry / 16; keeper.Now() < h.lateUntil && gate.Open(d); d *= 2 {
		_, _ = h.release()
	}
	if h.lateEnded != nil && gate.Closed() { // Close waits for that flush, too
		<-h.lateEnded
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
	t, ctx := h.queues.transport, context.Background()
	began := time.Now()
	h.givenBack.Store(true)
	for try := 1; ; try++ {
		cmds := []*driver.Command{t.Driver.Release(h.queue.lock, h.Owner())}
		readHint := t.Driver.ReadHint(h.queue.lock)
		if readHint != nil {
			cmds = append(cmds, readHint)
		}
		if h.hinted != nil {
			cmds = append(cmds, t.Driver.ClearHint(*h.hinted))
		}
		t.Send(ctx, cmds...)
		_, hint, err = t.Driver.Owned(cmds[0])
		if readHint != nil {
			hint = t.Driver.Hint(h.Owner(), readHint)
		}
		if redisx.OutcomeOf(err) == redisx.Done || try == transport.Tries || h.queues.gate.GivenUp() ||
			time.Since(began) > h.queues.options.Expiry ||
			t.Pause(ctx, try) != nil {
			return hint, err
		}
	}
}
