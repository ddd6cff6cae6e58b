package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkDies(c *check) {
	a, b, name := c.two()
	asked := time.Now()
	h := c.hold(a, name)
	granted := time.Now()
	restore := c.Faults.Cut(a)
	defer restore()
	at := c.gets(b, name, c.deadFor()+time.Since(granted), "after its holder crashed", nothing)
	if d, least := at.Sub(asked), c.Lease-c.Lease/10+c.LockDelay; d < least {
		c.Errorf("the lock of a crashed holder was granted again after %v, want at least %v", d, least)
	}
	c.told(h, "after its process was cut off")
	_ = h.release() // ErrLockLost, as "cut-off" checks
}

func checkWaiterCrashes(c *check) {
	holder, crashes, behind := c.open(), c.open(), c.open()
	name := c.name("")
	h := c.hold(holder, name)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	c.Go(func() { _ = crashes.WithLock(ctx, name, c.never("of a crashed waiter")) })
	c.arrive(name, 2)
	restore := c.Faults.Cut(crashes)
	defer restore()
	waiting := c.Go(func() { c.gets(behind, name, c.deadFor()+2*beat, "behind a crashed waiter", nothing) })
	c.Pass(beat)
	c.give(h)
	<-waiting
}

func checkWaiterLosesSession(c *check) {
	holder, expires := c.open(), c.open()
	name := c.name("")
	h := c.hold(holder, name)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	waited := make(chan error, 1)
	c.Go(func() { waited <- expires.WithLock(ctx, name, c.never("of a waiter that lost its session")) })
	c.arrive(name, 2)
	c.Faults.Expire(expires)
	limit := time.NewTimer(soon + c.Lease/2)
	defer limit.Stop()
	select {
	case err := <-waited:
		c.unavailable(ctx, err, "a wait whose session ended")
	case <-limit.C:
		c.Errorf("a wait whose session ended goes on after %v", soon+c.Lease/2)
	}
	c.give(h)
	c.free(name, "after the holder returned, and the session of a waiter ended")
}

func checkLockDelayReturned(c *check) {
	a, b := c.open(), c.open()
	lost := func(h *hold) {
		c.is(h.release(), rmw.ErrLockLost, "fn returned nil after its lease")
	}
	asked := time.Now()
	h := c.hold(a, c.name("stopped"))
	c.Faults.Stall(a, c.Lease)
	lost(h)
	at := c.gets(b, h.name, c.deadFor()+c.Lease, "after a stop of its holder", nothing)
	if d, least := at.Sub(asked), c.LockDelay-c.Lease/10; d < least {
		c.Errorf("the lock was granted %v after a stop of a lease, want at least %v", d, least)
	}
	h = c.hold(a, c.name("cut off"))
	restore := c.Faults.Cut(a)
	c.told(h, "after its process was cut off")
	ended := time.Now()
	restore()
	lost(h)
	at = c.gets(b, h.name, c.deadFor()+c.Lease, "after a cut of its holder", nothing)
	if d := at.Sub(ended); d < c.LockDelay {
		c.Errorf("the lock was granted %v after its holder had lost it, want at least %v", d, c.LockDelay)
	}
}

// unavailable requires the error of a call that got no answer. Its ctx may have ended first.
func (c *check) unavailable(ctx context.Context, err error, what string) {
	gaveUp := ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded)
	if errors.Is(err, rmw.ErrContended) || !errors.Is(err, rmw.ErrUnavailable) && !gaveUp {
		c.Errorf("%s: %v, want ErrUnavailable", what, err)
	}
}

func checkAcquireReplyLost(c *check) {
	a, b := c.open(), c.open()
	for _, m := range bothMethods() {
		for _, next := range []lock.Locker{a, b} {
			name := c.name(m.name)
			restore := c.Faults.LoseReply(a)
			ctx, cancel := context.WithTimeout(c.Ctx, soon)
			c.unavailable(ctx, m.call(a, ctx, name, c.never("without a reply")), m.name+" of a free lock without a reply")
			cancel()
			restore()
			c.gets(next, name, c.deadFor(), "after the reply to an acquisition was lost", nothing)
			c.free(name, "after the reply to an acquisition was lost")
		}
	}
	// The reply may also be lost once only.
	name := c.name("once")
	restore := c.Faults.LoseReply(a)
	asked := c.Go(func() {
		c.gets(a, name, c.deadFor()+soon, "although only the first replies were lost", func(context.Context) error {
			c.taken(name, "after the first replies to its holder were lost")
			return nil
		})
	})
	c.Pass(beat)
	restore()
	<-asked
	c.free(name, "after the first replies to its holder were lost")
}

// releases requires that a fault of a release leaves the lock to the next holder. The fault ends while that has it.
func (c *check) releases(begin func(l lock.Locker) (end func()), fault string) {
	a, b, name := c.two()
	h := c.hold(a, name)
	end := begin(a)
	released := c.Go(func() { _ = h.release() })
	c.gets(b, name, c.deadFor(), "after "+fault, func(ctx context.Context) error {
		end()
		c.kept(ctx, name, "after "+fault+" of the holder before")
		return nil
	})
	if !c.Within(soon, released) {
		c.Errorf("WithLock does not return after %s", fault)
	}
}

// kept requires the lock of ctx to be held for half a lease.
func (c *check) kept(ctx context.Context, name, when string) {
	for range 4 {
		c.Pass(c.Lease / 8)
		if ctx.Err() != nil {
			c.Errorf("the holder's ctx ended %s: %v", when, context.Cause(ctx))
			return
		}
		c.taken(name, when)
	}
}

func checkLateAcquire(c *check) {
	a, b := c.open(), c.open()
	for _, m := range bothMethods() {
		name := c.name(m.name)
		deliver := c.Faults.Late(a)
		ctx, cancel := context.WithTimeout(c.Ctx, beat)
		c.unavailable(ctx, m.call(a, ctx, name, c.never("before its request was executed")), m.name+", whose requests are held back,")
		cancel()
		deliver()
		c.gets(b, name, c.deadFor(), "after the late execution of an acquisition", func(ctx context.Context) error {
			c.kept(ctx, name, "after the late execution of an earlier acquisition")
			return nil
		})
		c.undone(name, "after the late execution of an acquisition")
	}
}

func checkTokenOverFailover(c *check) {
	for _, outage := range c.outages() {
		a, b := c.open(), c.open()
		name := c.name(outage.name)
		grow := c.growing("after " + outage.name)
		for _, l := range []lock.Locker{a, b, b, a} {
			c.lock(l, name, grow(l))
		}
		outage.begin()
		c.Pass(beat) // a service without data has its clock only, of which some tick in milliseconds
		for _, l := range []lock.Locker{b, a, a} {
			c.gets(l, name, c.deadFor(), "after "+outage.name, grow(l))
		}
		outage.end()
	}
}

func checkTokenAfterStall(c *check) {
	a, b := c.open(), c.open()
	h := c.hold(a, c.name(""))
	old := c.token(h.ctx)
	c.takeAway(h.name) // since Stall need not stop the lock service
	c.Faults.Stall(a, c.Lease)
	c.lock(b, h.name, func(ctx context.Context) error {
		if token := c.token(ctx); token <= old {
			c.Errorf("the token %d came after %d of a holder that stalled", token, old)
		}
		if h.ctx.Err() == nil {
			c.Errorf("fn's ctx has not ended after a stop of a whole lease")
		}
		c.kept(ctx, h.name, "while a holder that had stalled goes on")
		c.noToken(h.ctx, "of a holder that stalled", rmw.ErrLockLost)
		return nil
	})
	c.is(h.release(), rmw.ErrLockLost, "WithLock of a holder that stalled")
}

// outlives requires that a hold survives a fault of the lock service, or ends before the
// next begins.
func (c *check) outlives(fault func()) {
	a, b, name := c.two()
	h := c.hold(a, name)
	fault()
	for began := time.Now(); time.Since(began) < c.Lease+c.Lease/4; c.Pass(c.Lease / 100) {
		_ = b.TryLock(c.Ctx, name, func(context.Context) error {
			if h.ctx.Err() == nil {
				c.Errorf("another has the lock, and the ctx of the first has not ended")
			}
			return nil
		})
	}
	if err := h.release(); err != nil && !errors.Is(err, rmw.ErrLockLost) {
		c.Errorf("WithLock whose fn returned nil: %v", err)
	}
	c.gets(b, name, c.deadFor(), "after the fault", nothing)
	c.gets(a, name, c.deadFor(), "after the fault", nothing)
}

func checkClockBack(c *check) {
	a, b, name := c.two()
	c.hold(a, name)
	restore := c.Faults.Cut(a)
	defer restore()
	c.Faults.Clock(-time.Hour)
	c.gets(b, name, c.deadFor(), "after its holder crashed and the clock was set back", nothing)
}

func checkReconnect(c *check) {
	l := c.open()
	h := c.hold(l, c.name(""))
	for range 5 {
		c.Faults.Reconnect(l)
		c.Pass(c.Lease / 2)
		c.taken(h.name, "after a connection of its holder broke")
		if h.ctx.Err() != nil {
			c.Errorf("fn's ctx ended after a broken connection: %v", context.Cause(h.ctx))
			break
		}
	}
	_ = h.release()
	c.free(h.name, "after fn returned")
}
