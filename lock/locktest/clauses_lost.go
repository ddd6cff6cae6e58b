package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkRenewed(c *check) {
	l, name := c.one()
	h := c.hold(l, name)
	for range 10 {
		c.Pass(c.Lease / 4)
		if h.ctx.Err() != nil {
			c.Errorf("fn's ctx ended: %v", context.Cause(h.ctx))
			break
		}
		c.taken(name, "beyond the lease")
	}
	c.give(h)
	c.free(name, "after fn returned")
}

// told waits for the end of a hold's ctx, and judges its cause.
func (c *check) told(h *hold, why string) {
	select {
	case <-h.ctx.Done():
		c.is(context.Cause(h.ctx), rmw.ErrLockLost, "the cause of fn's ctx %s", why)
	case <-c.Ctx.Done():
		c.Fatalf("fn's ctx does not end %s", why)
	}
}

func checkTakenAway(c *check) {
	l, name := c.one()
	h := c.hold(l, name)
	c.takeAway(name)
	c.told(h, "after its lock was taken away")
	c.state(h.ctx, lock.Lost, "after the lock was taken away")
	c.is(h.release(), rmw.ErrLockLost, "fn returned nil without its lock")
	c.free(name, "after it was taken away")
	c.give(c.hold(l, name)) // the Locker works on
}

func (c *check) takeAway(name string) {
	if err := c.Faults.TakeAway(c.Ctx, name); err != nil {
		c.Fatalf("take the lock away: %v", err)
	}
}

func checkNotAnothers(c *check) {
	a, b, name := c.two()
	first := c.hold(a, name)
	c.takeAway(name)
	second := c.hold(b, name)
	c.told(first, "after its lock was taken away and went to another")
	_ = first.release() // ErrLockLost, as "taken-away" checks
	c.Pass(c.ReleasedWithin + beat)
	c.taken(name, "held by the second, after the first returned")
	if second.ctx.Err() != nil {
		c.Errorf("the second holder's ctx ended: %v", context.Cause(second.ctx))
	}
	c.give(second)
	c.free(name, "after the second returned")
}

func checkCutOff(c *check) {
	a, b, name := c.two()
	h := c.hold(a, name)
	restore := c.Faults.Cut(a)
	c.lock(b, name, func(context.Context) error {
		if h.ctx.Err() == nil {
			c.Errorf("another has the lock, and the ctx of the first has not ended")
		}
		return nil
	})
	restore()
	c.told(h, "after it was cut off")
	_ = h.release()
	c.free(name, "after both returned")
}

// checkStall leaves it to the Locker to look at its clock: no timer of it has fired yet.
func checkStall(c *check) {
	l := c.open()
	within := c.ReleasedWithin
	if c.LockDelay > 0 {
		within = c.deadFor()
	}
	for _, m := range bothMethods() {
		for _, asks := range []bool{false, true} {
			name := c.name(fmt.Sprint(m.name, asks))
			err := m.call(l, c.Ctx, name, func(ctx context.Context) error {
				c.Faults.Stall(l, c.Lease)
				if asks {
					c.stopped(ctx)
				}
				return nil
			})
			c.is(err, rmw.ErrLockLost, "%s, whose fn stopped for a whole lease and returned nil", m.name)
			c.freeWithin(within, name, "after a holder that had stopped returned")
		}
	}
	c.give(c.hold(l, c.name("after"))) // the Locker works on
}

// stopped requires ctx.Err to tell that the process was stopped.
func (c *check) stopped(ctx context.Context) {
	if err := ctx.Err(); err == nil || !errors.Is(context.Cause(ctx), rmw.ErrLockLost) {
		c.Errorf("after a stop of a whole lease, fn's ctx.Err is %v with cause %v, want cause ErrLockLost", err, context.Cause(ctx))
	}
}

func checkUnavailable(c *check) {
	a, b := c.open(), c.open()
	c.lock(a, c.name("before"), nothing)
	restore := c.Faults.Cut(a)
	for _, m := range bothMethods() {
		name := c.name(m.name)
		ctx, cancel := context.WithTimeout(c.Ctx, soon)
		began := time.Now()
		err := m.call(a, ctx, name, c.never("without the store"))
		c.unavailable(ctx, err, m.name+" without the store")
		if took := time.Since(began); took > 2*soon {
			c.Errorf("%s without the store returned after %v, its ctx ended after %v", m.name, took, soon)
		}
		cancel()
		if err := m.call(b, c.Ctx, name, nothing); err != nil {
			c.Errorf("%s of another Locker meanwhile: %v", m.name, err)
		}
	}
	restore()
	var err error
	for began := time.Now(); time.Since(began) < soon; c.Pass(beat) {
		if err = a.WithLock(c.Ctx, c.name("after"), nothing); err == nil {
			return
		}
	}
	c.Errorf("the store is back, and WithLock says %v", err)
}
