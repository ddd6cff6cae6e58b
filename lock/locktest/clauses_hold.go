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
	if err := h.Unlock(); !errors.Is(err, want) {
		c.Errorf("Unlock %s: %v, want %v", when, err, want)
	}
}

func checkUnlock(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
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
	a, b := c.open(), c.open()
	name := c.name("")
	first := c.locked(a, name)
	c.takeAway(name)
	second := c.locked(b, name)
	if !c.Within(soon+c.Lease, first.Context().Done()) {
		c.Errorf("the Context of a Hold does not end after its lock was taken away")
	} else if cause := context.Cause(first.Context()); !errors.Is(cause, rmw.ErrLockLost) {
		c.Errorf("the Context of a Hold ended with cause %v after its lock was taken away, want ErrLockLost", cause)
	}
	c.unlock(first, rmw.ErrLockLost, "of a lost lock")
	c.Pass(c.ReleasedWithin + beat)
	c.taken(name, "after the former holder unlocked")
	c.unlock(second, nil, "of the next holder")
}

func checkLockRefused(c *check) {
	a, b := c.open(), c.open()
	refused := func(ctx context.Context, name string, want error, when string) {
		if h, err := a.Lock(ctx, name); err == nil {
			c.Errorf("Lock works %s", when)
			_ = h.Unlock()
		} else if !errors.Is(err, want) {
			c.Errorf("Lock %s: %v, want %v", when, err, want)
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
func (c *check) multi(maxWait time.Duration, lockers ...lock.Locker) (m lock.Multi, names []string) {
	for i, l := range lockers {
		names = append(names, c.name(string(rune('a'+i))))
		m.Locks = append(m.Locks, lock.Named{Locker: l, Name: names[i]})
	}
	m.MaxWait = maxWait
	return m, names
}

func checkMulti(c *check) {
	a, b, other := c.open(), c.open(), c.open()
	m, names := c.multi(soon, a, b, a)
	ran := false
	err := m.WithLock(c.Ctx, func(ctx context.Context) error {
		ran = true
		for _, name := range names {
			c.taken(name, "within a Multi")
		}
		c.Pass(soon + beat) // MaxWait does not bound fn
		return ctx.Err()
	})
	if err != nil || !ran {
		c.Errorf("a Multi of free locks: %v", err)
	}
	m.MaxWait = 10 * beat
	for i, held := range names {
		c.free(held, "after a Multi")
		h := c.hold(other, held)
		began := time.Now()
		err := m.WithLock(c.Ctx, c.never("although a lock of a Multi is taken"))
		if took := time.Since(began); !errors.Is(err, rmw.ErrContended) || took > m.MaxWait+soon {
			c.Errorf("a Multi of which lock %d is taken: %v after %v, want ErrContended after %v", i, err, took, m.MaxWait)
		}
		for _, name := range names {
			if name != held {
				c.undone(name, "after a Multi that could not have all locks")
			}
		}
		c.give(h)
	}
}

func checkMultiLost(c *check) {
	a, b := c.open(), c.open()
	m, names := c.multi(0, a, b)
	for _, name := range names {
		err := m.WithLock(c.Ctx, func(ctx context.Context) error {
			c.takeAway(name)
			if !c.Within(soon+c.Lease, ctx.Done()) {
				c.Errorf("fn's ctx does not end after a lock of a Multi was taken away")
			} else if cause := context.Cause(ctx); !errors.Is(cause, rmw.ErrLockLost) {
				c.Errorf("fn's ctx ended with cause %v, want ErrLockLost", cause)
			}
			return nil
		})
		if !errors.Is(err, rmw.ErrLockLost) {
			c.Errorf("a Multi that lost a lock: %v, want ErrLockLost", err)
		}
		for _, name := range names {
			c.free(name, "after a Multi that lost a lock")
		}
	}
}

func checkMultiStall(c *check) {
	for i := range 2 {
		lockers := []lock.Locker{c.open(), c.open()}
		m, _ := c.multi(0, lockers...)
		err := m.WithLock(c.Ctx, func(ctx context.Context) error {
			c.Faults.Stall(lockers[i], c.Lease)
			if err := ctx.Err(); err == nil || !errors.Is(context.Cause(ctx), rmw.ErrLockLost) {
				c.Errorf("after Locker %d of a Multi was stopped for a lease, fn's ctx.Err is %v with cause %v, want cause ErrLockLost",
					i, err, context.Cause(ctx))
			}
			return nil
		})
		if !errors.Is(err, rmw.ErrLockLost) {
			c.Errorf("a Multi whose Locker %d was stopped for a lease: %v, want ErrLockLost", i, err)
		}
	}
}
