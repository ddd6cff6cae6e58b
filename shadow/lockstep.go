package shadow

import (
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// worker is one goroutine of the lockstep comparator. It applies each call to the hidden
// path's own key, once that holds the value that the call was computed from. All calls of a
// key go to the same worker.
type worker struct {
	*engine
	items    chan *item
	waiting  map[*keyState]struct{} // with pending calls
	finished *item                  // the last call settled, while its key is locked
}

// firstLook is the delay until a pending call looks for a write of another process. It
// doubles while the key does not change.
const firstLook = 10 * time.Millisecond

// seedWait is how long the first call of a key waits for an earlier one, until the hidden
// path is given the call's input: calls arrive in the order in which their callers woke
// up, and from a fleet in any order.
const seedWait = 50 * time.Millisecond

func (e *engine) worker(hash uint64) *worker { return e.workers[(hash>>16)%uint64(len(e.workers))] }

// sweep counts the remaining calls as dropped, once the worker has ended.
func (w *worker) sweep() {
	dropped := finding{missed: notcompared.DroppedMode}
	for t := range w.waiting {
		w.settleAll(t, dropped)
	}
	for len(w.items) > 0 {
		w.settle(<-w.items, dropped)
	}
	w.release()
}

func (w *worker) run() {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		clock.Reset(w.untilNext())
		select {
		case it := <-w.items:
			w.step(w.touched.touch(it.call), it)
		case <-clock.C:
			for _, t := range w.due() {
				w.step(t, nil)
			}
		case <-w.ctx.Done():
			return
		}
	}
}

func (w *worker) untilNext() time.Duration {
	wait := time.Hour
	for t := range w.waiting {
		wait = min(wait, time.Until(t.next))
	}
	return max(wait, 0)
}

func (w *worker) due() (states []*keyState) {
	now := time.Now()
	for t := range w.waiting {
		if !now.Before(t.next) {
			states = append(states, t)
		}
	}
	return states
}

// step adds a call, if there is one, and advances its key.
func (w *worker) step(t *keyState, it *item) {
	defer w.release()
	t.lock()
	defer t.unlock()
	defer func() {
		w.touched.unpin(t)
		if len(t.pending) > 0 {
			w.waiting[t] = struct{}{}
		} else {
			delete(w.waiting, t)
		}
	}()
	defer w.counters.onPanic(func() { w.settleAll(t, finding{missed: notcompared.ShadowPanic}) })
	switch {
	case it == nil:
	case t.copied.covers(it):
		t.equal = false
		w.settle(it, finding{missed: notcompared.Superseded})
	default:
		t.equal = false
		w.add(t, it)
	}
	w.advance(t)
}

func (w *worker) add(t *keyState, it *item) {
	if len(t.pending) == 0 {
		t.waitUntil, t.next, t.moved = time.Now().Add(w.cfg.LockstepWait), time.Time{}, time.Now()
	}
	t.key, t.op, t.pending = it.key, it.op, append(t.pending, it) // the key's kind may change
	t.healed = 0
	it.was, it.is = it.op.compare.digest(it.old), it.op.compare.digest(it.next)
	t.remember(it.was)
	t.remember(it.is)
	t.miss(it.missing)
}

// advance applies calls until none fits. The first case that applies is the next action for
// a key with pending calls.
func (w *worker) advance(t *keyState) {
	for len(t.pending) > 0 {
		switch i, now := w.fitting(t), time.Now(); {
		case w.hidden.ended(): // the shadow was closed or killed
			w.settleAll(t, finding{missed: notcompared.DroppedMode})
		case i >= 0: // the call was computed from the value that the hidden path holds
			w.apply(t, i)
		case !t.known: // an earlier call may still come
			t.next = w.seedAt(t)
			return
		case t.gap || !now.Before(t.waitUntil): // the call before the pending ones is missing
			if !w.supersede(t, t.copied.leadingTo(t.pending)) {
				w.resync(t)
			}
		case now.Before(t.next): // it may still come
			return
		default: // it may have come from another process, or the key may have expired
			if !w.look(t) {
				return
			}
			t.next = now.Add(min(t.waitUntil.Sub(now), max(firstLook, now.Sub(t.moved))))
			if w.fitting(t) < 0 {
				return // other keys of this worker are due, too
			}
		}
	}
}

// fitting returns the first call that was computed from the value that the hidden path
// holds, or -1. While that value is unknown, it returns the head of the chain of pending
// calls; an earlier call may still arrive, unless the head created the key.
func (w *worker) fitting(t *keyState) int {
	if t.known {
		return slices.IndexFunc(t.pending, func(it *item) bool { return it.was == t.left })
	}
	created := slices.IndexFunc(t.pending, func(it *item) bool { return !it.old.Exists() })
	if created >= 0 && !slices.ContainsFunc(t.pending, func(it *item) bool { return !it.next.Exists() }) {
		return created
	}
	if !t.gap && time.Now().Before(w.seedAt(t)) {
		return -1
	}
	after := map[digest]bool{}
	for _, it := range t.pending {
		if it.was != it.is {
			after[it.is] = true
		}
	}
	return max(0, slices.IndexFunc(t.pending, func(it *item) bool { return !after[it.was] }))
}

// seedAt is when the first pending call stops waiting for an earlier one.
func (w *worker) seedAt(t *keyState) time.Time {
	return t.pending[0].ended.Add(min(seedWait, w.cfg.LockstepWait))
}

// look reads the value that the hidden path holds. If it fails, the pending calls are given
// up.
func (w *worker) look(t *keyState) bool {
	v, err := w.hidden.read(t.key)
	if err != nil {
		w.lose(t, err)
		return false
	}
	if d := t.op.compare.digest(v); !t.known || d != t.left {
		t.holds(d)
		t.life = lifetime{}
	}
	return true
}

// lose gives up the pending calls of a key after an error of the hidden path. A call that
// changed the kind of the key was not mirrored; the seeded comparator sees any other cause
// of ErrWrongKind.
func (w *worker) lose(t *keyState, err error) {
	for _, it := range t.abandon() {
		f := w.hidden.failure(it.call, err, "a read")
		if errors.Is(err, rmw.ErrWrongKind) {
			f = finding{class: report.DriftGap, explain: "the store in the shadow holds a value of another kind"}
		}
		w.settle(it, f)
	}
}

func (w *worker) settleAll(t *keyState, f finding) {
	for _, it := range t.abandon() {
		w.settle(it, f)
	}
}

// settle ends the comparison of a call, with the finding it was blamed for before, if any.
// It keeps the last call of a step in flight until its key is unlocked: Drain must not
// return before, as the verifier skips a locked key.
func (w *worker) settle(it *item, f finding) {
	if it.blame != nil && !f.class.Blocks() {
		f = *it.blame
	}
	w.counters.settle(it, report.Lockstep, f)
	w.release()
	w.finished = it
}

func (w *worker) release() {
	if w.finished != nil {
		w.done(w.finished)
		w.finished = nil
	}
}
