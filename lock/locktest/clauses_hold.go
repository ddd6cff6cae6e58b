package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// locked takes a lock that must be free.
func (c *check) locked(l lock.Locker, name string) lock.Hold {
	ctx, cancel := context.WithCancel(c.Ctx)
	defer time.AfterFunc(soon, cancel).Stop()
	h, err := l.Lock(ctx, name)
	if err != nil {
		cancel()
		c.Fatalf("Lock of a free lock: %v", err)
	}
	context.AfterFunc(h.Context(), cancel)
	return h
}

func (c *check) unlock(h lock.Hold, want error, when string) {
	c.is(h.Unlock(), want, "Unlock %s", when)
}

func checkUnlock(c *check) {
	a, b, name := c.two()
	first := c.locked(a, name)
	if err := first.Context().Err(); err != nil {
		c.Errorf("the Context of a Hold has ended: %v", err)
	}
	c.state(first.Context(), lock.Safe, "before Unlock")
	c.taken(name, "before Unlock")
	if c.Reentrant {
		if err := a.TryLock(first.Context(), name, nothing); err != nil {
			c.Errorf("TryLock with the Context of a Hold: %v", err)
		}
		c.taken(name, "after a nested TryLock")
	}
	<-c.Go(func() { c.unlock(first, nil, "by another goroutine") })
	if !c.Within(soon, first.Context().Done()) {
		c.Errorf("the Context of a Hold does not end with its Unlock")
	}
	if cause := context.Cause(first.Context()); errors.Is(cause, rmw.ErrLockLost) {
		c.Errorf("the Context of a Hold that was unlocked ended with cause %v", cause)
	}
	c.state(first.Context(), lock.Lost, "after Unlock")
	c.free(name, "after Unlock")
	second := c.locked(b, name)
	_ = first.Unlock()
	c.taken(name, "after a second Unlock by the former holder")
	if err := second.Context().Err(); err != nil {
		c.Errorf("the Context of a Hold ended with the second Unlock of another: %v", err)
	}
	c.unlock(second, nil, "of the next holder")
	c.free(name, "after Unlock")
}

func checkUnlockLost(c *check) {
	a, b, name := c.two()
	first := c.locked(a, name)
	c.takeAway(name)
	second := c.locked(b, name)
	if !c.Within(soon+c.Lease, first.Context().Done()) {
		c.Errorf("the Context of a Hold does not end after its lock was taken away")
	}
	c.is(context.Cause(first.Context()), rmw.ErrLockLost, "the cause of the Context of a Hold after its lock was taken away")
	c.unlock(first, rmw.ErrLockLost, "of a lost lock")
	c.Pass(c.ReleasedWithin + beat)
	c.taken(name, "after the former holder unlocked")
	c.unlock(second, nil, "of the next holder")
}

func checkLockRefused(c *check) {
	a, b := c.open(), c.open()
	refused := func(ctx context.Context, name string, want error, when string) {
		h, err := a.Lock(ctx, name)
		c.is(err, want, "Lock %s", when)
		if err == nil {
			_ = h.Unlock()
		}
	}
	refused(c.Ctx, "", rmw.ErrInvalid, "without a name")
	ended, cancel := context.WithCancel(c.Ctx)
	cancel()
	refused(ended, c.name("ended"), context.Canceled, "with an ended ctx")
	c.free(c.name("ended"), "after Lock with an ended ctx")
	name := c.name("")
	h := c.locked(b, name)
	short, cancel := context.WithTimeout(c.Ctx, hears)
	defer cancel()
	refused(short, name, rmw.ErrContended, "although the lock is held")
	waited := c.Go(func() { c.unlock(c.locked(a, name), nil, "after a wait") })
	c.arrive(name, 2)
	c.unlock(h, nil, "while another waits")
	<-waited
	c.free(name, "after both unlocked")
}

// multi is one lock of each Locker.
func (c *check) multi(lockers ...lock.Locker) (m lock.Multi, names []string) {
	for i, l := range lockers {
		names = append(names, c.name(string(rune('a'+i))))
		m.Locks = append(m.Locks, lock.Named{Locker: l, Name: names[i]})
	}
	return m, names
}

func checkMultiLost(c *check) {
	a, b := c.open(), c.open()
	m, names := c.multi(a, b)
	for _, name := range names {
		err := m.WithLock(c.Ctx, func(ctx context.Context) error {
			c.takeAway(name)
			if !c.Within(soon+c.Lease, ctx.Done()) {
				c.Errorf("fn's ctx does not end after a lock of a Multi was taken away")
			}
			c.is(context.Cause(ctx), rmw.ErrLockLost, "the cause of fn's ctx after a lock of a Multi was taken away")
			return nil
		})
		c.is(err, rmw.ErrLockLost, "a Multi that lost a lock")
		for _, name := range names {
			c.free(name, "after a Multi that lost a lock")
		}
	}
}

func checkMultiStall(c *check) {
	for i := range 2 {
		lockers := []lock.Locker{c.open(), c.open()}
		m, _ := c.multi(lockers...)
		err := m.WithLock(c.Ctx, func(ctx context.Context) error {
			c.Faults.Stall(lockers[i], c.Lease)
			c.stopped(ctx)
			return nil
		})
		c.is(err, rmw.ErrLockLost, "a Multi whose Locker %d was stopped for a lease", i)
	}
}
