package locktest

import (
	"bytes"
	"context"
	"errors"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// ask asks for the token and the Sequencer of c, and has another Locker check and inspect its lock.
func (r *programRun) ask(ctx context.Context, a act, c *caller) {
	if c == nil || ctx.Err() != nil {
		return
	}
	h := c.holder()
	r.askToken(ctx, c, h)
	seq, err := lock.SequencerOf(ctx)
	if err != nil || seq.Name != c.name {
		if ctx.Err() == nil && !h.excused() {
			r.Errorf("%s: the Sequencer of fn's ctx is %+v, %v", c, seq, err)
		}
		return
	}
	r.mu.Lock()
	h.seq = seq
	r.mu.Unlock()
	l := r.lockers[a.locker]
	if r.Checks {
		if err := l.(lock.Checker).Check(r.Ctx, seq); err != nil && !r.mayFail(err, a.locker) && !h.excused() {
			r.Errorf("%s: Check of its Sequencer by %s, while fn runs: %v", c, lockerName(a.locker), err)
		}
	}
	if !r.Inspects {
		return
	}
	info, err := l.(lock.Inspector).Inspect(r.Ctx, c.name)
	switch {
	case err != nil && !r.mayFail(err, a.locker):
		r.Errorf("Inspect of %s: %v", short(c.name), err)
	case err != nil || h.excused():
	case !info.Held || info.Owner != seq.Owner || info.Token != seq.Token:
		r.Errorf("%s: Inspect shows %+v while fn runs, want %+v", c, info, seq)
	case r.Data && !bytes.Equal(info.Data, h.stored):
		r.Errorf("%s: Inspect shows the data %.40q of %d bytes, want %.40q of %d",
			c, info.Data, len(info.Data), h.stored, len(h.stored))
	}
}

// mayFail reports whether a request of a Locker may fail so.
func (r *programRun) mayFail(err error, locker int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[locker]
	return errors.Is(err, rmw.ErrClosed) && c.closed ||
		errors.Is(err, rmw.ErrUnavailable) && (c.faults > 0 || c.broken)
}

// askToken requires tokens to rise from holder to holder.
func (r *programRun) askToken(ctx context.Context, c, h *caller) {
	token, err := lock.Token(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.Tokens:
		if !errors.Is(err, rmw.ErrUnsupported) && !h.excused() {
			r.Errorf("%s: the token of a lock that has none is %d, %v", c, token, err)
		}
		return
	case err != nil:
		if ctx.Err() == nil && !h.excused() && !h.troubled.Load() {
			r.Errorf("%s: the token: %v", c, err)
		}
		return
	case token == 0, h.token != 0 && h.token != token:
		r.Errorf("%s: the token is %d, and was %d", c, token, h.token)
	}
	h.token = token
	later := false
	for _, o := range r.lockNamed(h.name).entered {
		switch same := o.locker == h.locker; {
		case o == h:
			later = true
		case o.token == 0, o.token == token && same:
		case later == (token < o.token) && token != o.token:
		default:
			r.Errorf("%s: the token %d is not between those of the holders before and after; %s has %d", c, token, o, o.token)
			return
		}
	}
}

// askAfter requires the Sequencer of a call that has returned to be refused, and the lock to be shown as free if it is.
func (c *caller) askAfter() {
	by := (c.locker + 1) % lockers
	before := c.holdersSoFar()
	quiet := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, o := range c.pending {
			if o.name == c.name {
				return false
			}
		}
		return c.settledLocked() && !c.excused() && c.ReleasedWithin == 0 && !c.clients[by].closed && !c.clients[by].broken &&
			len(c.lockNamed(c.name).entered) == before
	}
	if c.seq.Owner == "" || !quiet() {
		return
	}
	if c.Checks {
		if err := c.lockers[by].(lock.Checker).Check(c.Ctx, c.seq); !errors.Is(err, rmw.ErrLockLost) && quiet() {
			c.Errorf("%s: Check of its Sequencer by %s after the call: %v, want ErrLockLost", c, lockerName(by), err)
		}
	}
	if c.Inspects {
		if info, err := c.lockers[by].(lock.Inspector).Inspect(c.Ctx, c.name); (err != nil || info.Held) && quiet() {
			c.Errorf("%s: Inspect by %s shows %+v, %v after the call", c, lockerName(by), info, err)
		}
	}
}

func (c *caller) holdersSoFar() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lockNamed(c.name).entered)
}
