package lockupdate

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/rmw"
)

// watchdog keeps the leases of one Store: it renews them at half, and counts as
// lost what could not be renewed. One loop does it for all of them, on a timing
// wheel, and sends the renewals that are due together in plain pipelines: with a
// goroutine, a timer and a round trip for each, a hundred thousand leases cost
// hundreds of megabytes and most of a core.
//
// The loop starts with the first lease and ends when it finds none.
type watchdog struct {
	store *Store
	epoch time.Time
	tick  time.Duration

	mu      sync.Mutex // also guards the times of the leases
	wheel   *timewheel.Wheel[*lease]
	running bool
	wakesAt time.Duration
	wake    chan struct{} // something is due before wakesAt
}

// renewalsPerFlush bounds a pipeline, so that one that hangs holds up few. Codis
// resets a connection with more than 10,000 unanswered commands.
const renewalsPerFlush = 256

func newWatchdog(s *Store) *watchdog {
	tick := min(max(s.cfg.Lease/100, 100*time.Microsecond), 10*time.Millisecond)
	return &watchdog{
		store: s, epoch: time.Now(), tick: tick,
		wheel: timewheel.New[*lease](tick),
		wake:  make(chan struct{}, 1),
	}
}

func (w *watchdog) now() time.Duration { return time.Since(w.epoch) }

// watch begins to keep a lease that was taken by a command sent at sent. It is
// called from within a call of the Store.
func (w *watchdog) watch(l *lease, sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.granted = sent.Sub(w.epoch)
	l.until = w.heldUntil(l.granted)
	w.renewAtHalf(l)
	w.schedule(l)
	if !w.running {
		w.running = true
		w.store.gate.Go(w.loop)
	}
}

// heldUntil is when whoever has begun at began has held for as long as MaxHold allows.
// One that means for ever must not wrap round to the past.
func (w *watchdog) heldUntil(began time.Duration) time.Duration {
	return began + min(w.store.cfg.MaxHold, math.MaxInt64-max(began, 0))
}

// unwatch ends the keeping of a lease.
func (w *watchdog) unwatch(l *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.ended = true
	w.wheel.Cancel(&l.timer)
	if w.wheel.Len() == 0 && w.store.gate.Closed() {
		w.poke()
	}
}

// schedule sets the time at which l is to be looked at: for a renewal, or a tick
// before it counts as lost, as the wheel may be that late. w.mu is held.
func (w *watchdog) schedule(l *lease) {
	at := w.dueAt(l)
	w.wheel.Schedule(&l.timer, at)
	if at < w.wakesAt {
		w.poke()
	}
}

// renewAtHalf sets the next renewal: at half the lease, or a little earlier, so that
// leases that were taken close together are renewed together.
func (w *watchdog) renewAtHalf(l *lease) {
	grid := w.store.cfg.Lease / 64
	l.renewAt = max((l.granted + w.store.cfg.Lease/2).Truncate(grid), l.granted+grid)
}

func (w *watchdog) dueAt(l *lease) time.Duration { return min(l.renewAt, l.expires()-w.tick) }

func (w *watchdog) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watchdog) loop() {
	sleep := time.NewTimer(time.Hour)
	defer sleep.Stop()
	closing := w.store.gate.Closing
	for {
		lost, due, wait, more := w.turn()
		for _, l := range lost {
			l.tenure.loseLease(l.lost)
		}
		for len(due) > 0 {
			n := min(len(due), renewalsPerFlush)
			batch := due[:n:n]
			due = due[n:]
			// Elsewhere: the wheel must not wait for an answer.
			w.store.gate.Go(func() { w.renew(batch) })
		}
		if !more {
			return
		}
		sleep.Reset(wait)
		select {
		case <-sleep.C:
		case <-w.wake:
		case <-closing:
			closing = nil // once
		}
	}
}

// turn advances the wheel. It returns the leases that are lost, those to renew now,
// and how long nothing more is due; more is false if there is nothing left to keep:
// then the loop has ended.
func (w *watchdog) turn() (lost, due []*lease, wait time.Duration, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	w.wheel.Advance(now, func(t *timewheel.Timer[*lease]) {
		l := t.Value
		switch {
		case now >= l.expires()-w.tick:
			w.lose(l, w.causeOf(l))
			lost = append(lost, l)
			return
		case now < w.dueAt(l): // it has passed to another holder since
			w.schedule(l)
			return
		}
		l.busy.Add(1) // before end can wait for it
		due = append(due, l)
		// The next try, should this one never be answered.
		l.renewAt = now + w.store.cfg.Lease/8
		w.schedule(l)
	})
	next, more := w.wheel.Next()
	w.running, w.wakesAt = more, next
	return lost, due, next - now, more
}

// causeOf says why a lease that was not renewed is lost.
func (w *watchdog) causeOf(l *lease) error {
	if w.now() >= l.until-w.tick {
		return w.store.heldTooLong()
	}
	return fmt.Errorf("%w: it could not be renewed within its %v", rmw.ErrLockLost, w.store.cfg.Lease)
}

// lose marks a lease as lost and ends the ctx of the fn that runs under it. w.mu is
// held; what loseLease does must wait until it is not.
func (w *watchdog) lose(l *lease, cause error) {
	w.wheel.Cancel(&l.timer)
	l.lost = cause
	if l.turn != nil {
		l.turn.end(cause)
	}
}

// renew prolongs leases in one flush.
func (w *watchdog) renew(leases []*lease) {
	calls := make([]*call, len(leases))
	for i, l := range leases {
		calls[i] = w.store.dialect.renew(l.tenure.lock, l.tenure.owner, w.store.cfg.Lease)
	}
	sent, prolonged := w.now(), 0
	w.store.sendUnattended(context.Background(), calls)
	for i, l := range leases {
		held, _, err := w.store.dialect.answer(calls[i])
		if w.renewed(l, sent, held, err) {
			l.tenure.loseLease(l.lost)
		}
		switch {
		case err != nil:
			w.store.note(Event{Kind: EventLate, Lock: l.tenure.lock, N: 1, Err: err})
		case held:
			prolonged++
		}
		l.busy.Done()
	}
	if prolonged > 0 {
		w.store.note(Event{Kind: EventRenewed, N: prolonged, Took: w.now() - sent})
	}
}

// held returns how many leases are kept.
func (w *watchdog) held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wheel.Len()
}

// renewed notes the answer to a renewal, and reports whether it says that the lock
// is lost.
func (w *watchdog) renewed(l *lease, sent time.Duration, held bool, err error) (lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case l.ended || l.lost != nil:
		return false
	case err != nil: // try again while there is time
		l.renewAt = w.now() + w.store.cfg.Lease/16
	case !held:
		w.lose(l, fmt.Errorf("%w: the lock is gone from the server, or another's", rmw.ErrLockLost))
		return true
	default:
		l.granted = max(l.granted, sent) // renewals may overtake each other
		w.renewAtHalf(l)
	}
	w.schedule(l)
	return false
}
