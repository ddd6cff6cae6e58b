package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// reasonName is an error in a word, for counting.
func reasonName(err error) string {
	for _, reason := range []struct {
		err  error
		name string
	}{
		{rmw.ErrContended, "contended"},
		{rmw.ErrLockLost, "lock lost"},
		{rmw.ErrOutcomeUnknown, "outcome unknown"},
		{rmw.ErrWrongKind, "wrong kind"},
		{rmw.ErrUnsupported, "unsupported"},
		{rmw.ErrUnavailable, "unavailable"},
		{rmw.ErrInvalid, "invalid"},
		{rmw.ErrUndecodable, "undecodable"},
		{rmw.ErrClosed, "closed"},
		{context.Canceled, "cancelled"},
		{context.DeadlineExceeded, "timeout"},
		{errPanicked, "panic"},
	} {
		if errors.Is(err, reason.err) {
			return reason.name
		}
	}
	return "other"
}

// asked counts a call of the hidden path.
func (b *book) asked(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health.hiddenCalls++
	if errors.Is(err, errPanicked) {
		b.health.panics++
	}
	if isOutage(err) {
		b.health.hiddenErrors[reasonName(err)]++
	}
}

// panicked counts a panic of a comparison.
func (b *book) panicked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health.panics++
}

// waited notes how long a call was in the queue.
func (b *book) waited(it *item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health.queueWait.Record(time.Since(it.ended))
}

// resynced notes that a key was copied anew, and why.
func (b *book) resynced(cause string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health.resyncs[cause]++
}

// raced notes how long an update of the free run took.
func (b *book) raced(it *item, took, waited time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	it.op.candidate.Record(took)
	b.health.lock.Record(waited)
}

// audited counts a commit of the free run whose place in the chain is known.
func (b *book) audited(a ack, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !known {
		return
	}
	a.op.audited++
	if a.contended {
		a.op.contended++
	}
}
