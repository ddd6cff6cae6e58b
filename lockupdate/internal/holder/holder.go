package holder

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

const (
	// linger bounds how long a returned fn waits for others to be committed with it.
	linger = time.Millisecond
	// unpipelinedFor is for how many commits after a refused one a slow fn waits for the
	// answer to the commit before it: a second refusal would cost its time, too.
	unpipelinedFor = 8
	// maxBatch bounds how many calls a refused commit runs again.
	maxBatch = 256
	// quantum is how long a process with waiting calls keeps the lock before it asks
	// whether other processes wait for it.
	quantum = 10 * time.Millisecond
	// burst is how long a process that had to wait for the lock keeps it for further updates,
	// if each comes within burstGap of the one before: passing the lock on costs more.
	burst    = 2 * time.Millisecond
	burstGap = 100 * time.Microsecond
)

func newHolder(q *waitQueue) *holder {
	return &holder{holderState: newState(), queue: q, queues: q.queues, owner: q.queues.ownerIDs.Next()}
}

func newState() *holderState { return &holderState{woken: make(chan struct{}, 1)} }

// LockName and Owner implement lease.Holder.
func (h *holder) LockName() string { return h.queue.lock }

// Owner implements lease.Holder.
func (h *holder) Owner() string { return h.queues.ownerIDs.Name(h.owner) }

// Began implements lease.Holder.
func (h *holder) Began() time.Duration { return h.began }

// detachedLocked reports whether a critical section runs. Then the holder has no goroutine.
func (h *holder) detachedLocked() bool { return h.holderState == nil }

// takenLocked reports whether a call runs.
func (h *holder) takenLocked() bool {
	return h.running != nil || h.queue.unlocked != nil || h.detachedLocked()
}

// busyLocked reports whether a call that joins the empty queue must wait.
func (h *holder) busyLocked() bool { return h.takenLocked() || h.polling || h.inFlight }

// idleLocked reports whether a call that joins can run at once.
func (h *holder) idleLocked() bool {
	return !h.takenLocked() && h.lease != nil && !h.over && !h.lost && !h.yield && !h.inFlight && len(h.batch.calls) == 0
}

// mustAskLocked reports whether it is time to ask whether other processes wait.
func (h *holder) mustAskLocked() bool {
	if h.yield || h.queues.keeper.Now()-h.checked < quantum {
		return false
	}
	h.yield = h.contended // they are known to wait
	return !h.contended
}

// wakeLocked has the holder's goroutine, if there is one, look again.
func (h *holder) wakeLocked() {
	if h.detachedLocked() {
		return
	}
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// loadLocked has the next batch build on the value of the read with the sequence number asOf.
func (h *holder) loadLocked(key rmw.Key, v rmw.Value, asOf uint64) {
	h.key, h.asOf, h.batch = key, asOf, newBatch(v)
}

// lingerLocked returns for how long the idle holder keeps the lock.
func (h *holder) lingerLocked() time.Duration {
	if h.queues.gate.Closed() {
		return 0
	}
	if h.idleSince.IsZero() {
		h.idleSince = time.Now()
	}
	linger := h.queues.options.Linger
	if h.contended && h.key.Name != "" && h.queues.keeper.Now()-h.began < burst {
		linger = max(linger, burstGap)
	}
	return linger - time.Since(h.idleSince)
}

// read reads the value of the first call.
func (h *holder) read() {
	h.queue.mu.Lock()
	first := h.queue.first
	h.key = rmw.Key{} // no call may join a batch that load is going to replace
	h.queue.mu.Unlock()
	if first == nil {
		return
	}
	seq := h.queues.seq.Add(1)
	v, err := h.queues.values.ReadOpen(h.contextFor(first), first.key)
	if err != nil {
		h.refuseKey(first.key, redisx.Blame(h.contextFor(first), err))
		return
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.loadLocked(first.key, v, seq)
}

// refuseKey answers the updates of a key with a value that cannot be read. A critical section reads none.
func (h *holder) refuseKey(key rmw.Key, err error) {
	h.queue.refuse("read", err, func(c *Call) bool {
		return !c.section && c.key.Name == key.Name && c.key.Kind == key.Kind
	})
}

// contextFor returns the ctx of a command for the first call: that of the call, without its
// end, or one without values if other calls wait for the command, too.
func (h *holder) contextFor(first *Call) context.Context {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	if first.next != nil {
		return context.Background()
	}
	return context.WithoutCancel(first.ctx)
}
