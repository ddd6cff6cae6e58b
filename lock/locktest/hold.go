package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// work is what runs under a lock.
type work = func(ctx context.Context) error

// method is one of the two ways to take a lock.
type method struct {
	name string
	call func(l lock.Locker, ctx context.Context, name string, fn work) error
}

func bothMethods() []method {
	return []method{{"WithLock", lock.Locker.WithLock}, {"TryLock", lock.Locker.TryLock}}
}

// eachFunc checks one method with a ctx.
type eachFunc = func(ctx context.Context, c *check, l lock.Locker, m method, name string)

// each runs a check of each method, on a lock that must be free afterwards.
func each(run eachFunc) func(c *check) {
	return func(c *check) {
		l := c.open()
		for _, m := range bothMethods() {
			name := c.name(m.name)
			run(c.Ctx, c, l, m, name)
			c.free(name, "after "+m.name+" has ended")
		}
	}
}

// one opens a process and names a lock.
func (c *check) one() (l lock.Locker, name string) { return c.open(), c.name("") }

// two opens two processes and names a lock.
func (c *check) two() (a, b lock.Locker, name string) { return c.open(), c.open(), c.name("") }

// is requires an error.
func (c *check) is(err, want error, format string, args ...any) {
	if !errors.Is(err, want) {
		c.Errorf("%s: %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

// wait waits for goroutines.
func wait(ended []<-chan struct{}) {
	for _, e := range ended {
		<-e
	}
}

func nothing(context.Context) error { return nil }

// never is an fn that must not be called.
func (c *check) never(why string) work {
	return func(context.Context) error {
		c.Errorf("fn was called %s", why)
		return nil
	}
}

// hold is a lock that a goroutine holds until release, also after the end of its
// ctx.
type hold struct {
	name   string
	ctx    context.Context // fn's
	letGo  chan struct{}
	result chan error // what WithLock has returned
}

// hold takes a lock that must be free.
func (c *check) hold(l lock.Locker, name string) *hold {
	h, err := c.tryHold(l, name)
	if err != nil {
		c.Fatalf("WithLock on a free lock: %v", err)
	}
	return h
}

// tryHold is hold that may fail: if the lock is not to be had soon.
func (c *check) tryHold(l lock.Locker, name string) (*hold, error) {
	h := &hold{name: name, letGo: make(chan struct{}), result: make(chan error, 1)}
	entered := make(chan struct{})
	ctx, cancel := context.WithCancel(c.Ctx)
	c.Go(func() {
		defer cancel()
		h.result <- l.WithLock(ctx, name, func(ctx context.Context) error {
			h.ctx = ctx
			close(entered)
			select {
			case <-h.letGo:
			case <-c.Ctx.Done(): // the clause is over
			}
			return nil
		})
	})
	defer time.AfterFunc(soon, cancel).Stop()
	select {
	case <-entered:
		return h, nil
	case err := <-h.result:
		return nil, err
	}
}

// release gives it back and returns what WithLock returned.
func (h *hold) release() error {
	close(h.letGo)
	return <-h.result
}

// give gives back a lock that must still be held.
func (c *check) give(h *hold) {
	if err := h.release(); err != nil {
		c.Errorf("WithLock whose fn returned nil: %v", err)
	}
}

// another is a further process, that only looks.
func (c *check) another() lock.Locker {
	if c.observer == nil {
		c.observer = c.open()
	}
	return c.observer
}

// taken requires that no other process can have the lock.
func (c *check) taken(name, when string) {
	c.refused(c.Ctx, c.another(), name, when)
}

// refused requires TryLock to say that the lock is taken.
func (c *check) refused(ctx context.Context, l lock.Locker, name, when string) {
	c.is(l.TryLock(ctx, name, c.never(when)), rmw.ErrContended, "TryLock %s", when)
}

// free requires that another process can have the lock, by now or as soon as the
// Target declares.
func (c *check) free(name, when string) { c.freeWithin(c.ReleasedWithin, name, when) }

// undone is free after a request whose caller gave up: the lock service may execute it late, and
// the Locker then undoes it, before the lease would end.
func (c *check) undone(name, when string) {
	c.freeWithin(max(c.ReleasedWithin, c.Lease/2), name, when)
}

func (c *check) freeWithin(limit time.Duration, name, when string) {
	for began := time.Now(); ; c.Pass(limit / 50) {
		err := c.another().TryLock(c.Ctx, name, nothing)
		switch {
		case err == nil:
			return
		case !errors.Is(err, rmw.ErrContended):
			c.Errorf("TryLock %s: %v", when, err)
			return
		case time.Since(began) >= limit || c.Ctx.Err() != nil:
			c.Errorf("the lock is still taken %s", when)
			return
		}
	}
}

// lock runs fn under a lock, which must work.
func (c *check) lock(l lock.Locker, name string, fn work) {
	if err := l.WithLock(c.Ctx, name, fn); err != nil {
		c.Errorf("WithLock: %v", err)
	}
}

// gets runs fn under the lock, which must be had within limit, and returns when it was. An
// attempt that finds the lock service unavailable is repeated.
func (c *check) gets(l lock.Locker, name string, limit time.Duration, when string, fn work) (at time.Time) {
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	waiting := time.AfterFunc(limit, cancel)
	for began := time.Now(); ; c.Pass(beat) {
		err := l.WithLock(ctx, name, func(ctx context.Context) error {
			waiting.Stop()
			at = time.Now()
			return fn(ctx)
		})
		switch {
		case err == nil:
			return at
		case ctx.Err() != nil || !errors.Is(err, rmw.ErrUnavailable):
			c.Errorf("the lock was not to be had %s: %v after %v", when, err, time.Since(began))
			return at
		}
	}
}
