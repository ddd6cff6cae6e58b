package shadow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// apply plays a call on the hidden path's own key.
func (l *lane) apply(t *track, i int) {
	it := t.pending[i]
	c := it.call
	seeded := false
	if !t.known && c.old.Exists() {
		var err error
		if seeded, err = l.seed(t, c); err != nil {
			l.lose(t, err)
			return
		}
	}
	if err := l.leave(t, it.is); err != nil {
		l.lose(t, err)
		return
	}
	var seen rmw.Value
	var res rmw.Result
	life := t.life
	err := l.ask(func(ctx context.Context) (err error) {
		res, err = l.hidden.Update(ctx, c.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if c.op.compare.digest(cur) != it.was {
				seen = cur.Untraced()
				return rmw.Value{}, errInput
			}
			next := l.timed(c)
			t.lives(c, next)
			return next, nil
		})
		return err
	})
	switch {
	case errors.Is(err, errInput):
		t.life = life
		l.elsewhere(t, it, seen, seeded)
		return
	case err != nil && l.outage(err) != "":
		t.pending = slices.Delete(t.pending, i, i+1)
		l.pass(it, report.Lockstep, l.outage(err))
		t.known, t.gap = false, true
		t.unsure()
		return
	case errors.Is(err, rmw.ErrWrongKind):
		l.lose(t, err)
		return
	case err != nil:
		t.pending = slices.Delete(t.pending, i, i+1)
		t.known, t.gap = false, true
		l.settle(it, report.Lockstep, refusedFinding(c, err, "an update"))
		return
	}
	t.pending = slices.Delete(t.pending, i, i+1)
	t.holds(it.is)
	t.gap = false
	t.wait = time.Now().Add(l.book.cfg.LockstepWait)
	l.readBack(t, it, res)
}

// elsewhere notes that the hidden path does not hold what it was left with, or what it
// was just seeded with.
func (l *lane) elsewhere(t *track, it *item, seen rmw.Value, seeded bool) {
	c := it.call
	d := t.op.compare.digest(seen)
	alone := l.book.cfg.Sole && t.dirty == "" && t.settled()
	switch {
	case t.known && !seen.Exists():
		t.known = false // it has expired since, and is to be seeded again
		return
	case alone && seeded && !t.gone(seen):
		l.note(t, it, c.judge(c.old, seen, "the store in the shadow does not hold what it has acknowledged"))
		t.gap = true
	case alone && t.certain() && !t.gap && !t.remembers(d):
		// Nobody else mirrors, and this was never a value of the key's.
		f := c.judge(c.old, seen, l.foreign(t, seen, "the store in the shadow holds what this process has not written"))
		f.class = report.ForeignWrite
		l.note(t, it, f)
		t.gap = true
	}
	t.holds(d)
}

// note keeps a finding for when the call in hand is settled.
func (l *lane) note(t *track, it *item, f finding) {
	it.blame = &f
	t.dirty = opID(l.book.cfg, it.call)
}

// timed is what a call left, with its expiry as it was there: not a while later.
func (l *lane) timed(c *call) rmw.Value {
	next := c.next.Untraced()
	if ttl := cmp.Or(next.TTL(), c.key.TTL); ttl > 0 {
		next = next.WithTTL(max(ttl-time.Since(c.ended), time.Millisecond))
	}
	return next
}

// seed gives the hidden path what the call was computed from, if it has nothing yet,
// with the expiry that the serving path has.
func (l *lane) seed(t *track, c *call) (seeded bool, err error) {
	ttl := rmw.NoTTL
	if peeker, ok := rmw.As[rmw.Peeker](l.store.serving); ok {
		ctx, cancel := context.WithTimeout(l.ctx, l.book.cfg.Timeout)
		v, left, err := peeker.Peek(ctx, t.key)
		cancel()
		if err == nil && v.Exists() {
			ttl = left
		}
	}
	if err := l.leave(t, c.op.compare.digest(c.old)); err != nil {
		return false, err
	}
	err = l.ask(func(ctx context.Context) error {
		res, err := l.hidden.Update(ctx, c.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Exists() {
				return cur, nil
			}
			return c.old.Untraced().WithTTL(ttl), nil
		})
		seeded = res.Written
		return err
	})
	t.life = lifetime{}
	switch {
	case err != nil:
		t.unsure()
	case seeded:
		t.setLife(ttl)
	}
	return seeded, err
}

// gone reports whether a value is not there because it has expired, or may have.
func (t *track) gone(v rmw.Value) bool {
	return !v.Exists() && t.life.mayBeOver(t.op.compare.tolerance)
}

// readBack looks whether what was acknowledged is there. Another process may have been
// quicker: then it proves nothing.
func (l *lane) readBack(t *track, it *item, res rmw.Result) {
	defer func() {
		if p := recover(); p != nil { // a Project of the user's: nobody else has the call in hand any more
			l.pass(it, report.Lockstep, report.ShadowPanic)
			panic(p)
		}
	}()
	c := it.call
	v, err := l.read(c.key)
	if err != nil {
		if why := l.outage(err); why != "" {
			l.pass(it, report.Lockstep, why)
		} else {
			l.settle(it, report.Lockstep, refusedFinding(c, err, "a read after the update"))
		}
		return
	}
	f := c.judge(c.next, v, "the store in the shadow does not hold what it has acknowledged")
	f = l.lostWrite(f, c.op, c.key, res, c.old, c.next, v)
	t.sure = !f.class.Blocks()
	switch {
	case t.sure:
	case !l.book.cfg.Sole, !t.settled(), t.gone(v):
		// The verifier will tell.
		f = finding{class: report.Match}
		t.holds(c.op.compare.digest(v))
	case t.dirty != "":
		f.class = report.DriftInherited
		t.gap = true
	default:
		t.dirty = opID(l.book.cfg, c)
		t.gap = true
	}
	l.settle(it, report.Lockstep, f)
}
