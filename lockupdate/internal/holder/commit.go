package holder

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// commit writes the batch, or verifies its value if it changes nothing. Meanwhile the next
// batch forms.
func (h *holder) commit() {
	h.queue.mu.Lock()
	b := h.batch
	h.batch, h.inFlight = newBatch(b.value), true
	asks := h.turns > 0 && h.mustAskLocked()
	h.turns++
	h.dispatchLocked()
	asOf, key := h.asOf, h.key
	h.queue.mu.Unlock()

	sent := h.queues.seq.Add(1)
	ctx, end := h.commitContext(b.calls, asks)
	res, err := driver.CommitResult{Stored: true}, error(nil)
	switch {
	case b.changes():
		r := b.request(key)
		res, err = h.write(ctx, r, asks)
		if res.Stored && !r.Whole() {
			sent = 0 // unread fields may be older than this
		}
	case b.knownSince(asOf):
		sent = asOf
	default:
		var now rmw.Value
		if now, err = h.queues.values.Read(ctx, key); err != nil || !now.Equal(b.base) {
			res = driver.CommitResult{Now: now}
		}
	}
	end(err)
	h.queue.mu.Lock()
	h.resolveLocked(b, sent, res, err)
	h.queue.mu.Unlock()
	switch {
	case res.Stored && b.writes > 1:
		h.queues.emit(event.Event{Kind: event.Combined, Lock: h.queue.lock, N: b.writes, Call: b.caller()})
	case !res.Stored && err == nil:
		h.queues.emit(event.Event{Kind: event.Conflicted, Lock: h.queue.lock, N: len(b.calls), Call: b.caller()})
	}
	if len(b.calls) > 1 {
		runtime.Gosched() // the callers just answered may join the next batch with their next calls
	}
}

// commitContext returns the ctx of a commit for calls, and what to call after the commit. A
// flush that also renews the lease is not one of a caller.
func (h *holder) commitContext(calls []*Call, renews bool) (ctx context.Context, end func(error)) {
	if len(calls) == 1 && !renews {
		return context.WithoutCancel(calls[0].ctx), func(error) {}
	}
	callers := make([]context.Context, len(calls))
	for i, c := range calls {
		callers[i] = c.ctx
	}
	return h.queues.transport.BatchContext(callers)
}

// write commits a request. With asks it also prolongs the lease and learns whether other
// processes wait.
func (h *holder) write(ctx context.Context, r driver.CommitRequest, asks bool) (res driver.CommitResult, err error) {
	values := h.queues.values
	if !asks {
		res, err = values.CommitOnce(ctx, r)
	} else {
		h.readHint()
		renewal, sent := h.queues.keeper.Renewal(h), h.queues.keeper.Now()
		res, err = values.CommitOnce(ctx, r, renewal)
		if renewal.Built() {
			h.renewed(sent, renewal)
		}
	}
	if errors.Is(err, rmw.ErrOutcomeUnknown) && h.queues.options.SoleWriter && !r.Next.Equal(r.Base) && h.foundStored(ctx, r) {
		return driver.CommitResult{Stored: true}, nil
	}
	return res, err
}

// foundStored tells, after a lost reply, whether the commit has run. Only if every writer
// holds the lock can no other program have stored the same value, and only while the lease
// lasts.
func (h *holder) foundStored(ctx context.Context, r driver.CommitRequest) bool {
	for try := 1; try <= transport.Tries && h.queues.keeper.Err(h.lease) == nil; try++ {
		if try > 1 && h.queues.transport.Pause(ctx, try) != nil {
			return false
		}
		if now, err := h.queues.values.Read(ctx, r.Key); err == nil && now.Equal(r.Next) {
			return h.queues.keeper.Err(h.lease) == nil
		}
	}
	return false
}

// resolveLocked answers a batch, or has it run again on the present value.
func (h *holder) resolveLocked(b batch, sent uint64, res driver.CommitResult, err error) {
	h.inFlight = false
	h.batch.began = time.Now() // until now it could not have been committed
	if res.Stored {
		h.asOf = sent
		if h.queue.unpipelined > 0 {
			h.queue.unpipelined--
		}
		if res.Now.Exists() {
			h.rebaseLocked(&b, res.Now)
		}
		for _, c := range b.calls {
			c.succeedLocked()
		}
		return
	}
	// All that was built on the batch is invalid with it.
	if h.running != nil {
		h.invalid = true
	}
	again := slices.Concat(b.calls, h.batch.calls)
	switch {
	case err == nil:
		h.queue.unpipelined = unpipelinedFor
		h.loadLocked(h.key, res.Now, sent)
	case errors.Is(err, driver.ErrTooLarge) && len(b.calls) > 1:
		h.unbatched = true
		h.key = rmw.Key{}
	case h.queues.transport.Unreached(err): // not sent; the read before the next dispatch waits for the store
		h.key = rmw.Key{}
	default:
		again = slices.Concat(b.failLocked(err), h.batch.calls)
		h.key = rmw.Key{}
	}
	h.batch.calls = nil
	h.requeueLocked(again)
}

// rebaseLocked has a batch, and the next one, go by the value at the commit. Calls
// of the next batch keep their base, for its own commit to compare; it does not count as
// read.
func (h *holder) rebaseLocked(b *batch, held rmw.Value) {
	b.rebase(held)
	if h.running == nil && len(h.batch.calls) == 0 {
		h.batch = newBatch(b.value)
	} else {
		h.asOf = 0
	}
}
