package transport

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// batcher lets the commands of concurrent callers share flushes: while some flushes are
// in flight, further commands gather in a batch. A command that is alone never waits. The
// commands of a batch are independent, and may run in any order.
type batcher struct {
	mu       sync.Mutex
	inFlight int
	trip     time.Duration // about the shortest of the last flushes
	pending  []*batch      // the first is sent next
}

const (
	// maxInFlight is how many flushes are in flight before commands gather. More flushes
	// use more connections and share less, so that they cost CPU. Where a flush takes longTrip,
	// maxInFlightFar of them cost less than the wait.
	maxInFlight    = 4
	maxInFlightFar = 16
	longTrip       = time.Millisecond
	// maxBatch bounds a flush, so that one that hangs delays few commands.
	maxBatch = 256
	// maxPending is how long a batch waits for one in flight, which may hang on a backend
	// that this batch does not need.
	maxPending = 5 * time.Millisecond
)

// batch is commands that gather. Its first caller leads it.
type batch struct {
	cmds    []*driver.Command
	callers []context.Context
	start   chan struct{} // closed when the batch may be sent; nil: at once
	done    chan struct{} // closed when it was answered
}

// observe learns the time of a round trip. Flushes that wait for a busy server or client take longer,
// so that short ones count at once, and long ones slowly.
func (b *batcher) observe(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trip = min(took, b.trip+(took-b.trip)/64)
}

// roomLocked reports whether another flush may be in flight.
func (b *batcher) roomLocked() bool {
	return b.inFlight < maxInFlight || b.inFlight < maxInFlightFar && b.trip >= longTrip
}

// join adds commands to a batch, and reports whether the caller must send it. A nil batch
// is the caller's own commands, to be sent at once. The leader awaits a batch, sends
// it and finishes it.
func (b *batcher) join(ctx context.Context, cmds []*driver.Command) (own *batch, leads bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.roomLocked() && len(b.pending) == 0 {
		b.inFlight++
		return nil, true
	}
	if n := len(b.pending); n > 0 && len(b.pending[n-1].cmds)+len(cmds) <= maxBatch {
		own := b.pending[n-1]
		own.cmds, own.callers = append(own.cmds, cmds...), append(own.callers, ctx)
		return own, false
	}
	own = &batch{cmds: cmds, callers: []context.Context{ctx}, start: make(chan struct{}), done: make(chan struct{})}
	b.pending = append(b.pending, own)
	return own, true
}

// await waits until a batch may be sent. After that nothing is added to it.
func (b *batcher) await(own *batch) {
	t := time.NewTimer(maxPending)
	defer t.Stop()
	select {
	case <-own.start:
		return
	case <-t.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.pending, own); i >= 0 {
		b.pending = slices.Delete(b.pending, i, i+1)
		b.inFlight++
	}
}

// finish makes room for the next batch.
func (b *batcher) finish(own *batch) {
	b.mu.Lock()
	if b.inFlight--; b.roomLocked() && len(b.pending) > 0 {
		next := b.pending[0]
		b.pending = b.pending[1:]
		b.inFlight++
		close(next.start)
	}
	b.mu.Unlock()
	if own != nil {
		close(own.done)
	}
}
