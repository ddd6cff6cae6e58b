package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func crashClauses() []Clause {
	return []Clause{
		{Name: "dies", needs: []need{cut, lease}, run: checkDies,
			Says: "The lock of a crashed holder stays taken for its lease and the lock delay, and can then be had."},
		{Name: "waiter-crashes", needs: []need{cut, lease}, run: checkWaiterCrashes,
			Says: "A crashed waiter does not keep the lock from those behind it for longer than a lease."},
		{Name: "waiter-loses-session", needs: []need{expire}, run: checkWaiterLosesSession,
			Says: "A wait ends as ErrUnavailable with its session, and keeps no place."},
		{Name: "lock-delay", needs: []need{lockDelay, cut, lease}, run: checkLockDelay,
			Says: "After a lost lock no process gets it before the lock delay is over; after a release it is free at once."},
		{Name: "lock-delay-returned", needs: []need{lockDelay, stall, cut, lease}, run: checkLockDelayReturned,
			Says: "The lock delay holds also if fn returns after the loss, with the lock service in reach."},
	}
}

func checkDies(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
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
		c.unavailable(err, "a wait whose session ended")
	case <-limit.C:
		c.Errorf("a wait whose session ended goes on after %v", soon+c.Lease/2)
	}
	c.give(h)
	c.free(name, "after the holder returned, and the session of a waiter ended")
}

func checkLockDelay(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
	for _, l := range []lock.Locker{a, b} {
		c.give(c.hold(l, name))
		c.free(name, "after a release, in spite of the lock delay")
	}
	h := c.hold(a, name)
	restore := c.Faults.Cut(a)
	defer restore()
	lost := make(chan time.Time, 1)
	c.Go(func() {
		c.told(h, "after its process was cut off")
		lost <- time.Now()
	})
	at := c.gets(b, name, c.deadFor()+c.Lease, "after its holder crashed", nothing)
	if d := at.Sub(<-lost); d < c.LockDelay {
		c.Errorf("the lock was granted %v after its holder had lost it, want at least %v", d, c.LockDelay)
	}
	_ = h.release() // ErrLockLost, as "cut-off" checks
}

func checkLockDelayReturned(c *check) {
	a, b := c.open(), c.open()
	lost := func(h *hold) {
		if err := h.release(); !errors.Is(err, rmw.ErrLockLost) {
			c.Errorf("fn returned nil after its lease: %v, want ErrLockLost", err)
		}
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
