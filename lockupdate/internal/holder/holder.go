package holder

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// holder takes the lock for a wait queue, dispatches its calls, commits their results,
// and releases the lock.
type holder struct {
	*holderState // nil while a critical section runs, so that 100,000 held locks stay small
	queue        *waitQueue
	queues       *Queues
	owner        int64
	lease        *lease.Lease
	began        time.Duration          // when the lock was taken, by the keeper's clock
	lateUntil    time.Duration          // until when an acquire without a reply may run; 0: there is none
	hinted       *driver.AcquireRequest // that left a hint; or nil

	asideInFlight atomic.Bool // see sendAside
	givenBack     atomic.Bool // the release follows: no hint of ours may stay

	// Guarded by queue.mu.
	running   *Call         // its fn runs, or it is about to learn that it has the critical section
	checked   time.Duration // when the holder last asked whether other processes wait
	turns     uint32        // commits and critical sections
	yield     bool          // other processes wait: end after the current batch
	contended bool          // another process held the lock before, so that others may wait
	lost      bool          // the lease is
	over      bool          // no more calls are dispatched
}

// holderState is the state of a holder with a goroutine.
type holderState struct {
	acquiring
	label string        // of the first key; "" after a critical section
	woken chan struct{} // of size one

	// Guarded by queue.mu.
	polling    bool      // another process holds the lock
	outage     error     // why the store cannot be reached
	key        rmw.Key   // the batch builds on its value; no Name: none
	asOf       time.Time // when the command was sent that read that value
	batch      batch
	inFlight   bool      // the commit of an earlier batch
	dispatched time.Time // when the last call was
	invalid    bool      // the running fn was given a value that was never stored
	unbatched  bool      // a batch was too large to commit
	idleSince  time.Time
	released   chan struct{} // closed at the reply to the release; nil: no call waits for it
}

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
	return h.running != nil || h.queue.runsUnlockedLocked() || h.detachedLocked()
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

// take begins to hold the lock, which was asked for with the call first.
func (h *holder) take(first *Call, a acquired, usualWait time.Duration) {
	h.began = h.queues.keeper.Now()
	l := h.queues.keeper.Keep(h, h.sent)
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.lease, h.label, h.contended, h.polling = l, first.key.Label, h.polling, false
	h.checked, h.queue.usualWait = h.began, microsOf(usualWait)
	if a.loaded {
		h.loadLocked(first.key, a.value, h.sent)
	}
}

// loadLocked has the next batch build on a value that a command sent at asOf has read.
func (h *holder) loadLocked(key rmw.Key, v rmw.Value, asOf time.Time) {
	h.key, h.asOf, h.batch = key, asOf, newBatch(v)
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
	case h.queue.runsUnlockedLocked() && h.lost: // its fn runs for longer than Config.MaxHold
		h.queue.unlocked = nil
		return stop, 0
	case h.running != nil || h.queue.runsUnlockedLocked():
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
	sent := time.Now()
	v, err := h.queues.transport.Read(h.contextFor(first), first.key)
	if err != nil {
		h.refuseKey(first.key, redisx.Blame(h.contextFor(first), err))
		return
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.loadLocked(first.key, v, sent)
}

// refuseKey answers the calls of a key with a value that cannot be read.
func (h *holder) refuseKey(key rmw.Key, err error) {
	h.queue.refuse("read", err, func(c *Call) bool { return c.key.Name == key.Name && c.key.Kind == key.Kind })
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
