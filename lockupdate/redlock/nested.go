package redlock

import "context"

// owner is the key under which fn's ctx carries the hold that it runs under: who
// has the ctx owns the lock, on whichever goroutine.
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 {
		return nil, nil
	}
	if lost := context.Cause(h.kept); lost != nil {
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
	return ctx, func() { stop(); cancel(nil) }
}
