package locktest

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func replyClauses() []Clause {
	return []Clause{
		{Name: "acquire-reply-lost", needs: []need{loseReply, lease}, run: checkAcquireReplyLost,
			Says: "If the lock is granted and the reply is lost, the Locker does not block itself, and the lock is free within a lease."},
		{Name: "release-reply-lost", needs: []need{loseReply, lease}, run: checkReleaseReplyLost,
			Says: "If the reply to a release is lost, the lock is free within a lease, and the next holder keeps it."},
		{Name: "late-acquire", needs: []need{late, lease}, run: checkLateAcquire,
			Says: "A request that the lock service executes after its caller gave up leaves no lock behind for longer than a lease."},
		{Name: "late-release", needs: []need{late, lease}, run: checkLateRelease,
			Says: "A release that the lock service executes late does not free the lock of the next holder."},
	}
}

// unavailable requires the error of a call that got no answer. Its ctx may have ended first.
func (c *check) unavailable(err error, what string) {
	gaveUp := errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, rmw.ErrContended)
	if !errors.Is(err, rmw.ErrUnavailable) && !gaveUp {
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
			c.unavailable(m.call(a, ctx, name, c.never("without a reply")), m.name+" of a free lock without a reply")
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

func checkReleaseReplyLost(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
	h := c.hold(a, name)
	restore := c.Faults.LoseReply(a)
	released := c.Go(func() { _ = h.release() })
	c.gets(b, name, c.deadFor(), "after the reply to its release was lost", func(ctx context.Context) error {
		restore()
		c.kept(ctx, name, "while the former holder learns of its release")
		return nil
	})
	if !c.Within(soon, released) {
		c.Errorf("WithLock does not return after the reply to a release was lost")
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
		c.unavailable(m.call(a, ctx, name, c.never("before its request was executed")), m.name+", whose requests are held back,")
		cancel()
		deliver()
		c.gets(b, name, c.deadFor(), "after the late execution of an acquisition", func(ctx context.Context) error {
			c.kept(ctx, name, "after the late execution of an earlier acquisition")
			return nil
		})
		c.undone(name, "after the late execution of an acquisition")
	}
}

func checkLateRelease(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
	h := c.hold(a, name)
	deliver := c.Faults.Late(a)
	released := c.Go(func() { _ = h.release() })
	c.gets(b, name, c.deadFor(), "after its release was held back", func(ctx context.Context) error {
		deliver()
		c.kept(ctx, name, "after the late execution of an earlier release")
		return nil
	})
	if !c.Within(soon, released) {
		c.Errorf("WithLock does not return after its release was held back")
	}
}
