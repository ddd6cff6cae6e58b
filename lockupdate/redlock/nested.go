package redlock

import (
	"context"
	"fmt"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// owner is the key under which fn's ctx carries its hold: a call with
// the ctx owns the lock, on any goroutine.
type owner struct {
	l    *Locker
	name string
}

// join enters the hold that ctx carries. It returns nil if there is none, or if it
// has ended: then the lock has to be taken.
func (l *Locker) join(ctx context.Context, name string) (*hold, error) {
	h, _ := ctx.Value(owner{l, name}).(*hold)
	if h == nil {
		return nil, nil
	}
	lost := h.lost()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.users == 0:
		return nil, nil
	case lost != nil:
		return nil, lost
	}
	h.users++
	return h, nil
}

// ctxFor returns the ctx for an fn that runs under the hold, for a caller with
// ctx. It watches the hold itself: a nested caller may have detached its ctx from
// the outer fn's.
func (h *hold) ctxFor(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, owner{h.Locker, h.name}, h))
	stop := context.AfterFunc(h.kept, func() { cancel(context.Cause(h.kept)) })
	return &lockContext{ctx, h, cancel}, func() { stop(); cancel(nil) }
}

// lockContext is fn's ctx. Its Err looks at the clock.
type lockContext struct {
	context.Context

	h      *hold
	cancel context.CancelCauseFunc
}

// Err implements context.Context.
func (c *lockContext) Err() error {
	if lost := c.h.lost(); lost != nil {
		c.cancel(lost)
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c *lockContext) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return c.h
	}
	return c.Context.Value(key)
}

// Token implements [lock.Tokener]: nodes that know nothing of each other count no tokens.
func (h *hold) Token(context.Context) (uint64, error) {
	return 0, fail("token", h.name, fmt.Errorf("%w: redlock has no fencing tokens; call lock.Token with the ctx of an outer lock that has them, "+
		"or use lockupdate.Store or etcdlock.Locker", rmw.ErrUnsupported))
}
