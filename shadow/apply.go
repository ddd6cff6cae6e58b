package shadow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

const notHeld = "the store in the shadow does not hold the value that it acknowledged"

// apply plays a pending call on the hidden path's own key.
func (w *worker) apply(t *keyState, i int) {
	it := t.pending[i]
	seeded := false
	if !t.known && it.old.Exists() {
		var err error
		if seeded, err = w.seed(t, it.call); err != nil {
			w.lose(t, err)
			return
		}
	}
	if err := w.logWrite(t, it.is); err != nil {
		w.lose(t, err)
		return
	}
	life := t.life
	var seen rmw.Value // instead of the call's input
	res, err := w.hidden.update(it.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if it.op.compare.digest(cur) != it.was {
			seen = driver.Untraced(cur)
			return rmw.Value{}, errInput
		}
		next := driver.Untraced(it.next)
		if ttl := cmp.Or(next.TTL(), it.key.TTL); ttl > 0 { // the expiry runs since the serving path's write
			next = next.WithTTL(max(ttl-time.Since(it.ended), time.Millisecond))
		}
		t.lives(it.call, next)
		return next, nil
	})
	var f finding
	if err == nil {
		t.holds(it.is)
		t.gap, t.waitUntil = false, time.Now().Add(w.cfg.LockstepWait)
		f = w.readBack(t, it, res)
	} else {
		f = w.hidden.failure(it.call, err, "an update")
		switch {
		case errors.Is(err, errInput):
			t.life = life
			w.elsewhere(t, it, seen, seeded)
			return
		case f.missed != "":
			t.unsure()
		case errors.Is(err, rmw.ErrWrongKind):
			w.lose(t, err)
			return
		}
		t.known, t.gap = false, true
	}
	t.pending = slices.Delete(t.pending, i, i+1)
	w.settle(it, f)
}

// elsewhere handles a hidden path that holds another value than it was left with, or than
// it was just seeded with.
func (w *worker) elsewhere(t *keyState, it *item, seen rmw.Value, seeded bool) {
	d := t.op.compare.digest(seen)
	provable := w.cfg.Sole && !t.dirty && t.settled()
	switch {
	case t.known && !seen.Exists():
		t.known = false // the key has expired: it is seeded again
		return
	case provable && seeded && !t.expired(seen):
		w.blame(t, it, it.judge(it.old, seen, notHeld))
	case provable && t.certain() && !t.gap && !t.remembers(d): // the key never had this value
		f := it.judge(it.old, seen, w.explainForeign(t, seen, "the store in the shadow holds a value that this process has not written"))
		f.class = report.ForeignWrite
		w.blame(t, it, f)
	}
	t.holds(d)
}

// blame keeps a finding until the call is settled.
func (w *worker) blame(t *keyState, it *item, f finding) {
	it.blame = &f
	t.dirty, t.gap = true, true
}

// seed writes the input of a call to a key that the hidden path does not have, with the
// expiry on the serving path.
func (w *worker) seed(t *keyState, c *call) (seeded bool, err error) {
	ttl := rmw.NoTTL
	if peeker, ok := rmw.As[rmw.Peeker](w.store.serving); ok {
		ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Timeout)
		v, left, err := peeker.Peek(ctx, t.key)
		cancel()
		if err == nil && v.Exists() {
			ttl = left
		}
	}
	if err := w.logWrite(t, c.op.compare.digest(c.old)); err != nil {
		return false, err
	}
	res, err := w.hidden.update(c.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if cur.Exists() {
			return cur, nil
		}
		return driver.Untraced(c.old).WithTTL(ttl), nil
	})
	t.life = lifetime{}
	switch {
	case err != nil:
		t.unsure()
	case res.Written:
		t.setLife(ttl)
	}
	return res.Written, err
}

// readBack compares the stored value with the acknowledged one. Unless this process is the
// only one, another may have written in between, and a difference proves nothing.
func (w *worker) readBack(t *keyState, it *item, res rmw.Result) finding {
	v, err := w.hidden.read(it.key)
	if err != nil {
		return w.hidden.failure(it.call, err, "a read after the update")
	}
	f := w.lostWrite(it.judge(it.next, v, notHeld), it.op.compare, it.key, res, it.old, it.next, v)
	t.sure = !f.class.Blocks()
	switch {
	case t.sure:
	case !w.cfg.Sole, !t.settled(), t.expired(v): // the verifier finds out
		t.holds(it.op.compare.digest(v))
		return finding{class: report.Match}
	case t.dirty:
		f.class, t.gap = report.DriftInherited, true
	default:
		t.dirty, t.gap = true, true
	}
	return f
}

// maxRetries is how often a key is copied in vain while another process changes it.
const maxRetries = 3

// resync copies a key anew: a call before the pending ones is missing. Calls that the copy
// contains are not compared.
func (w *worker) resync(t *keyState) {
	cause := "gap"
	if !t.gap {
		cause = "unexplained"
	}
	if !w.look(t) {
		return
	}
	v, err := w.copyOver(t)
	switch {
	case errors.Is(err, errInput) && t.retries < maxRetries:
		t.retries++
		t.known, t.gap = false, false
		t.waitUntil, t.next = time.Now().Add(w.cfg.LockstepWait), time.Now().Add(firstLook)
		return
	case errors.Is(err, errInput):
		w.settleAll(t, finding{class: report.DriftGap, explain: "the key changes whenever it is copied anew"})
		t.retries = 0
		return
	case err != nil:
		w.lose(t, err)
		return
	}
	w.counters.locked(func(h *report.Health) { h.Resyncs[cause]++ })
	t.holds(t.op.compare.digest(v))
	t.gap, t.retries = false, 0
	t.waitUntil = time.Now().Add(w.cfg.LockstepWait)
	f := finding{
		class: report.DriftGap, explain: "the call before this one did not arrive (" + cause + "); the key was copied anew",
	}
	if t.dirty {
		f.class = report.DriftInherited
	}
	w.settle(t.pending[0], f)
	t.pending = slices.Delete(t.pending, 0, 1)
	w.supersede(t, t.copied.covers)
}

// supersede ends the pending calls that the last copy contains, and reports whether there
// were any.
func (w *worker) supersede(t *keyState, contains func(*item) bool) bool {
	before := len(t.pending)
	t.pending = slices.DeleteFunc(t.pending, func(it *item) bool {
		contained := contains(it)
		if contained {
			w.settle(it, finding{missed: notcompared.Superseded})
		}
		return contained
	})
	return len(t.pending) < before
}

// copyOver copies the serving path's value to the hidden path, unless that no longer holds
// t.left. As t.left was read first, the copy is newer than the value that it replaces.
func (e *engine) copyOver(t *keyState) (rmw.Value, error) {
	began := time.Now()
	v, left, err := e.readServing(e.ctx, t.key)
	if err != nil {
		return v, err
	}
	read, d := time.Now(), t.op.compare.digest(v)
	if err := e.logWrite(t, d); err != nil {
		return v, err
	}
	_, err = e.hidden.update(t.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		switch {
		case t.op.compare.digest(cur) != t.left:
			return rmw.Value{}, errInput
		case !v.Exists():
			return rmw.Value{}, nil
		}
		return v.WithTTL(left), nil
	})
	switch {
	case err == nil:
		t.copied = copied{began, read, d}
		t.setLife(left)
	case !errors.Is(err, errInput):
		t.unsure()
	}
	return v, err
}

// readServing reads a value and its expiry from the serving path.
func (e *engine) readServing(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	return readTTL(ctx, e.store.serving, key)
}
