package driver

import (
	"context"
	"fmt"
	"sync"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// key finds the Hold of a lock in a ctx.
type key struct {
	locker *Locker
	name   string
}

// join enters the holding that ctx carries. Without one it returns nil.
func (l *Locker) join(ctx context.Context, name string) (*Hold, error) {
	h, _ := ctx.Value(key{l, name}).(*Hold)
	if h == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.tell()
	if h.users == 0 {
		return nil, nil // it has ended
	}
	if err := h.checkLocked(); err != nil {
		return nil, err
	}
	h.users++
	return h, nil
}

// section is one function under a lock.
type section struct {
	hold *Hold
	ctx  *sectionContext
	once sync.Once
	stop func() bool
	err  error
}

// section returns the section of a caller that has entered h. Its ctx is not derived from
// the ctx of an outer section, since the caller may have detached it.
func (h *Hold) section(ctx context.Context) *section {
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, key{h.locker, h.name}, h))
	s := &section{hold: h, ctx: &sectionContext{Context: inner, parent: ctx, hold: h, cancel: cancel}}
	s.stop = context.AfterFunc(h.kept, func() { cancel(context.Cause(h.kept)) })
	return s
}

// Context implements lock.Hold.
func (s *section) Context() context.Context { return s.ctx }

// Unlock implements lock.Hold.
func (s *section) Unlock() error {
	s.once.Do(func() {
		lost := s.hold.leave()
		s.stop()
		s.ctx.cancel(lost)
		if lost != nil {
			s.err = s.hold.locker.fail("hold", s.hold.name, lost)
		}
	})
	return s.err
}

// sectionContext is the ctx of a function under a lock. Its Err reads the clock.
type sectionContext struct {
	context.Context

	parent context.Context
	hold   *Hold
	cancel context.CancelCauseFunc
}

// Err implements context.Context.
func (c *sectionContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if lost := c.hold.check(); lost != nil {
		c.cancel(lost)
	} else if err := c.parent.Err(); err != nil { // of an outer lock: it reads the clock, too
		c.cancel(context.Cause(c.parent))
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c *sectionContext) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Token implements lock.Held.
func (c *sectionContext) Token(context.Context) (uint64, error) {
	s, err := c.sequencer("token")
	if err == nil && !c.hold.locker.tokens {
		err = c.hold.locker.fail("token", c.hold.name, fmt.Errorf(
			"%w: %s has no fencing tokens; use a Locker that has, and see docs/locks.md", rmw.ErrUnsupported, c.hold.locker.name))
	}
	return s.Token, err
}

// Sequencer implements lock.Held.
func (c *sectionContext) Sequencer(context.Context) (lock.Sequencer, error) {
	return c.sequencer("sequencer")
}

func (c *sectionContext) sequencer(op string) (lock.Sequencer, error) {
	h := c.hold
	h.locker.mu.Lock()
	defer h.locker.tell()
	err := h.checkLocked()
	if err == nil && h.users == 0 {
		err = fmt.Errorf("%w: this ctx no longer holds the lock; ask before fn returns", rmw.ErrInvalid)
	}
	if err != nil {
		return lock.Sequencer{}, h.locker.fail(op, h.name, err)
	}
	return lock.Sequencer{Name: h.name, Owner: h.owner, Token: h.token}, nil
}

// State implements lock.Held.
func (c *sectionContext) State() lock.State {
	h := c.hold
	h.locker.mu.Lock()
	defer h.locker.tell()
	switch {
	case h.users == 0 || h.checkLocked() != nil:
		return lock.Lost
	case !h.jeopardy.IsZero():
		return lock.Jeopardy
	}
	return lock.Safe
}
