package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func outageClauses() []Clause {
	return []Clause{
		{Name: "token-over-failover", alone: true, needs: []need{tokens, outage}, run: checkTokenOverFailover,
			Says: "Tokens grow over a restart, a failover, the loss of all data, and a clock that is set back."},
		{Name: "token-after-stall", needs: []need{tokens, stall, takeAway, lease}, run: checkTokenAfterStall,
			Says: "A holder that stalls past its lease gets neither its lock nor a token back, and its old token is smaller than the next holder's."},
		{Name: "restart", alone: true, needs: []need{restart, lease}, run: func(c *check) { c.outlives(c.Faults.Restart) },
			Says: "Over a restart of the lock service, a hold survives or ends before another begins."},
		{Name: "failover", alone: true, needs: []need{failover, lease}, run: func(c *check) { c.outlives(c.Faults.Failover) },
			Says: "Over a failover of the lock service, a hold survives or ends before another begins."},
		{Name: "clock-forward", alone: true, needs: []need{steadyClock, clock, lease},
			run:  func(c *check) { c.outlives(func() { c.Faults.Clock(time.Hour) }) },
			Says: "If the clock of the lock service is set forward, a hold survives or ends before another begins."},
		{Name: "clock-back", alone: true, needs: []need{steadyClock, clock, cut, lease}, run: checkClockBack,
			Says: "If the clock of the lock service is set back, the lock of a crashed holder can still be had after its lease."},
		{Name: "reconnect", needs: []need{reconnect, lease}, run: checkReconnect,
			Says: "A broken connection alone loses no lock."},
	}
}

func checkTokenOverFailover(c *check) {
	for _, outage := range c.outages() {
		a, b := c.open(), c.open()
		name := c.name(outage.name)
		var last uint64
		var lastLocker lock.Locker
		next := func(l lock.Locker) work { // one process may have the same token again
			return func(ctx context.Context) error {
				token := c.token(ctx)
				if token < last || token == last && l != lastLocker {
					c.Errorf("after %s the token %d came after %d", outage.name, token, last)
				}
				last, lastLocker = token, l
				return nil
			}
		}
		for _, l := range []lock.Locker{a, b, b, a} {
			c.lock(l, name, next(l))
		}
		outage.begin()
		c.Pass(beat) // a service without data has its clock only, of which some tick in milliseconds
		for _, l := range []lock.Locker{b, a, a} {
			c.gets(l, name, c.deadFor(), "after "+outage.name, next(l))
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
	if err := h.release(); !errors.Is(err, rmw.ErrLockLost) {
		c.Errorf("WithLock of a holder that stalled: %v, want ErrLockLost", err)
	}
}

// outlives requires that a hold survives a fault of the lock service, or ends before the
// next begins.
func (c *check) outlives(fault func()) {
	a, b := c.open(), c.open()
	name := c.name("")
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
	a, b := c.open(), c.open()
	name := c.name("")
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
