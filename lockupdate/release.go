package lockupdate

import (
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
)

// finish gives the lock back, and leaves those who still wait to the next tenure.
func (t *tenure) finish() {
	q := t.queue
	q.mu.Lock()
	t.over = true
	q.tenure = nil
	owes := t.lease != nil || !t.ghost.IsZero()
	if owes {
		q.releasing = t.owner
	}
	if t.lease != nil && (t.yield || t.contended) {
		t.landed = make(chan struct{})
		q.landed = t.landed
	}
	if q.first != nil {
		q.start()
	}
	q.mu.Unlock()
	if owes {
		t.giveBack()
	}
	q.forget()
}

// giveBack releases a lock that is ours, or that may become ours when an acquire that
// got lost is executed after all: then it looks again, until a lease after that was
// sent.
func (t *tenure) giveBack() {
	if t.lease != nil {
		t.lease.end()
		t.lease.busy.Wait()
		if t.turns <= 1 || t.yield || t.contended { // not how long one goes on whom nobody wants to follow
			t.holds.learn(t.label, time.Since(t.began))
		}
	}
	sent := time.Now()
	gap, err := t.release()
	// Whoever waits asks again before a lease ends, whatever its note says.
	gap = min(gap, t.cfg.Poll.Max, t.cfg.Lease)
	if err != nil && t.gate.Closed() {
		t.Store.mu.Lock()
		t.unreleased = errors.Join(t.unreleased, fmt.Errorf("lockupdate: the lock %.128q is not released and ends with its lease, within %v: %w",
			t.lock, t.cfg.Lease, err))
		t.Store.mu.Unlock()
	}
	t.mu.Lock()
	if t.landed != nil {
		close(t.landed)
	}
	if t.releasing == t.owner {
		t.releasing = ""
	}
	if gap > 0 {
		// Stay away for longer than the others' pause, and than their next question
		// is on its way, so that they get their turn.
		gap += gap/8 + 2*time.Since(sent) + time.Millisecond
		gap = min(gap, 2*t.cfg.Poll.Max)
		t.awayUntil = time.Now().Add(gap)
	}
	t.mu.Unlock()
	for d := t.cfg.Lease / 16; time.Since(t.ghost) < t.cfg.Lease && t.gate.Open(d); d *= 2 {
		_, _ = t.release()
	}
	if gap > 0 {
		t.gate.Open(gap + time.Millisecond) // the queue remembers until then
	}
}

// release asks until it is answered, a few times at most; after that the lock
// ends with its lease. The command touches only its own owner's lock, so asking
// twice is harmless. It returns within which time another process that waits for
// the lock asks again; 0 if none does.
func (t *tenure) release() (gap time.Duration, err error) {
	began := time.Now()
	t.givenBack.Store(true)
	for try := 1; ; try++ {
		calls := []*call{t.dialect.release(t.lock, t.owner)}
		heed := t.dialect.heed(t.lock)
		if heed != nil {
			calls = append(calls, heed)
		}
		if t.noted != nil {
			calls = append(calls, t.dialect.takeBack(*t.noted))
		}
		t.flights.send(t.ctx, calls...)
		_, note, err := t.dialect.answer(calls[0])
		if heed != nil {
			note = t.dialect.heeded(t.owner, heed)
		}
		if redisx.OutcomeOf(err) == redisx.Done || try == tries || time.Since(began) > t.cfg.Lease || t.pause(t.ctx, try) != nil {
			return note, err
		}
	}
}
