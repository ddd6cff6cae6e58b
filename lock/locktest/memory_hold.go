package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// memoryHold is one acquisition, shared by the fn that runs under it and those
// nested in it. All is guarded by the store's lock.
type memoryHold struct {
	m     *Memory
	name  string
	token uint64

	users   int
	expires time.Time // when the store lets it go
	watch   *time.Timer
	lost    error
	kept    context.Context // until it is lost
	lose    context.CancelCauseFunc
}

// newMemoryHold counts its first user and begins to renew. The store's lock is
// held.
func newMemoryHold(m *Memory, name string, now time.Time) *memoryHold {
	m.store.token++
	h := &memoryHold{m: m, name: name, token: m.store.token, users: 1, expires: now.Add(m.cfg.Lease)}
	h.kept, h.lose = context.WithCancelCause(context.Background())
	h.watch = time.AfterFunc(m.cfg.Lease/2, h.renew)
	return h
}

// owner is the key under which fn's ctx carries its hold.
type owner struct {
	m    *Memory
	name string
}

// enter joins the hold that ctx carries, if there is one and it has not ended.
func (m *Memory) enter(ctx context.Context, name string) (*memoryHold, error) {
	h, _ := ctx.Value(owner{m, name}).(*memoryHold)
	if h == nil {
		return nil, nil
	}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	switch {
	case h.users == 0:
		return nil, nil // given back meanwhile
	case m.cfg.NotReentrant:
		return nil, m.fail(name, fmt.Errorf("%w: the caller holds this lock already; pass on what it protects instead", rmw.ErrInvalid), nil)
	case h.lost != nil:
		return nil, m.fail(name, h.lost, nil)
	}
	h.users++
	return h, nil
}

// ctxFor returns the ctx for an fn that runs under h, for a caller with ctx. It is
// not enough to derive it from the outer fn's: the caller may have detached that.
func (h *memoryHold) ctxFor(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, owner{h.m, h.name}, h))
	stop := context.AfterFunc(h.kept, func() { cancel(context.Cause(h.kept)) })
	return &memoryContext{ctx, h, cancel}, func() { stop(); cancel(nil) }
}

// memoryContext is fn's ctx. Its Err looks at the clock, as the timer of the lease may be late.
type memoryContext struct {
	context.Context

	h      *memoryHold
	cancel context.CancelCauseFunc
}

// Err implements context.Context.
func (c *memoryContext) Err() error {
	s := c.h.m.store
	s.mu.Lock()
	lost := c.h.check()
	s.mu.Unlock()
	if lost != nil {
		c.cancel(lost)
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c *memoryContext) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return c.h
	}
	return c.Context.Value(key)
}

// Token implements [lock.Tokener].
func (h *memoryHold) Token(context.Context) (uint64, error) {
	s := h.m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := h.check()
	if reason == nil && h.users == 0 {
		reason = fmt.Errorf("%w: this ctx no longer holds the lock; call lock.Token before fn returns", rmw.ErrInvalid)
	}
	if reason != nil {
		return 0, &rmw.Error{Path: "memory", Op: "token", Key: h.name, Reason: reason}
	}
	return h.token, nil
}

// leave uncounts a user. The last one gives the lock back. It returns why the lock
// was lost, if it was.
func (h *memoryHold) leave() error {
	s := h.m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := h.check()
	h.users--
	if h.users > 0 {
		return lost
	}
	h.watch.Stop()
	defer h.lose(nil)
	if s.held[h.name] == h && !h.m.cut { // else it ends with its lease
		s.free(h.name)
	}
	return lost
}

// check returns why the lock was lost, if it was: also if the lease has ended and no
// timer has told so yet. The store's lock is held.
func (h *memoryHold) check() error {
	if h.users > 0 && h.lost == nil && !time.Now().Before(h.deadline()) {
		h.end("it could not be renewed within its %v", h.m.cfg.Lease)
	}
	return h.lost
}

// deadline is when to count the lock as lost: a tenth of the lease before others
// could have it.
func (h *memoryHold) deadline() time.Time { return h.expires.Add(-h.m.cfg.Lease / 10) }

// renew prolongs the lock, or counts it as lost.
func (h *memoryHold) renew() {
	s := h.m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	now, lease := time.Now(), h.m.cfg.Lease
	deadline := h.deadline()
	switch {
	case h.users == 0 || h.lost != nil:
	case h.m.cut && now.Before(deadline):
		h.watch.Reset(min(lease/16, deadline.Sub(now)))
	case h.m.cut:
		h.end("it could not be renewed within its %v", lease)
	case s.held[h.name] != h:
		h.end("it was taken away")
	default:
		h.expires = now.Add(lease)
		h.watch.Reset(lease / 2)
	}
}

func (h *memoryHold) end(format string, args ...any) {
	h.lost = fmt.Errorf("%w: "+format, append([]any{rmw.ErrLockLost}, args...)...)
	h.lose(h.lost)
}
