package shadow

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// maxBeaten is how often a key is tried to be copied while somebody else changes it.
const maxBeaten = 3

// resync copies the key anew, as the calls that wait cannot follow: one before them is
// missing. What the copy contains of them is not compared.
func (l *lane) resync(t *track) {
	first := t.pending[0]
	cause := "gap"
	if !t.gap {
		cause = "unexplained"
	}
	if !l.look(t) {
		return
	}
	v, err := l.copyOver(t)
	switch {
	case errors.Is(err, errInput) && t.beaten < maxBeaten:
		t.beaten++ // somebody else is at it
		t.known, t.gap = false, false
		t.wait, t.next = time.Now().Add(l.book.cfg.LockstepWait), time.Now().Add(firstLook)
		return
	case errors.Is(err, errInput):
		for _, it := range t.abandon() {
			l.settle(it, report.Lockstep, finding{class: report.DriftGap, explain: "the key changes whenever it is copied anew"})
		}
		t.beaten = 0
		return
	case err != nil:
		l.lose(t, err)
		return
	}
	l.book.resynced(cause)
	t.holds(t.op.compare.digest(v))
	t.gap, t.beaten = false, 0
	t.wait = time.Now().Add(l.book.cfg.LockstepWait)
	class := report.DriftGap
	if t.dirty != "" {
		class = report.DriftInherited
	}
	t.pending = slices.DeleteFunc(t.pending, func(it *item) bool {
		switch {
		case it == first:
			l.settle(it, report.Lockstep, finding{
				class: class, explain: "the call before this one did not arrive (" + cause + "); the key was copied anew",
			})
		case t.copied.covers(it):
			l.pass(it, report.Lockstep, report.Superseded)
		default:
			return false
		}
		return true
	})
}

// supersede ends the calls that waited in vain because the last copy has them, it seems.
func (l *lane) supersede(t *track) (some bool) {
	covered := t.copied.perhaps(t.pending)
	t.pending = slices.DeleteFunc(t.pending, func(it *item) bool {
		if covered[it] {
			l.pass(it, report.Lockstep, report.Superseded)
		}
		return covered[it]
	})
	return len(covered) > 0
}

// copyOver makes the hidden path hold what the serving one does, unless somebody has
// changed it since we have looked. Because it is looked at first, that can only be
// newer than what it replaces.
func (e *engine) copyOver(t *track) (rmw.Value, error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.book.cfg.Timeout)
	defer cancel()
	began := time.Now()
	v, left, err := peek(ctx, e.store.serving, t.key)
	if err != nil {
		return v, err
	}
	read := time.Now()
	if err := e.leave(t, t.op.compare.digest(v)); err != nil {
		return v, err
	}
	err = e.ask(func(ctx context.Context) error {
		_, err := e.hidden.Update(ctx, t.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if t.op.compare.digest(cur) != t.left {
				return rmw.Value{}, errInput
			}
			if !v.Exists() {
				return rmw.Value{}, nil
			}
			return v.WithTTL(left), nil
		})
		return err
	})
	switch {
	case err == nil:
		t.copied = copied{began, read, t.op.compare.digest(v)}
		t.setLife(left)
	case !errors.Is(err, errInput):
		t.unsure()
	}
	return v, err
}

// peek reads a value, with its expiry if the Store can tell; otherwise NoTTL.
func peek(ctx context.Context, store rmw.Store, key rmw.Key) (rmw.Value, time.Duration, error) {
	v, err := store.Read(ctx, key)
	if err != nil {
		return v, rmw.NoTTL, err
	}
	peeker, ok := rmw.As[rmw.Peeker](store)
	if !ok {
		return v, rmw.NoTTL, nil
	}
	same, left, err := peeker.Peek(ctx, key)
	if err == nil && !same.Exists() {
		return rmw.Value{}, rmw.NoTTL, nil // it has expired since: for ever would be wrong
	}
	return v, left, err
}
