package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func waitClauses() []Clause {
	return []Clause{
		{Name: "waits", Says: "WithLock on a taken lock waits until its holder has returned, in any process, and then runs.", run: checkWaits},
		{Name: "ctx-ended-waiting", Says: "A wait ends promptly with its ctx, as ErrContended and ctx's error, and leaves nothing behind.", run: checkCtxEndedWaiting},
		{Name: "everybody", Says: "Everybody who waits is served in the end.", run: checkEverybody},
	}
}

func checkWaits(c *check) {
	a, b := c.open(), c.open()
	for who, l := range map[string]lock.Locker{"the holder's Locker": a, "another Locker": b} {
		name := c.name(who)
		h := c.hold(a, name)
		var over, ran atomic.Bool
		waiting := c.Go(func() {
			c.lock(l, name, func(context.Context) error {
				if !over.Load() {
					c.Errorf("fn of one who waits on %s ran while the lock was held", who)
				}
				ran.Store(true)
				return nil
			})
		})
		c.Pass(2 * beat)
		over.Store(true)
		c.give(h)
		<-waiting
		if !ran.Load() {
			c.Errorf("fn of one who waits on %s did not run", who)
		}
		c.free(name, "after the waiter returned")
	}
}

// endings are the ways for a ctx to end after d.
var endings = map[error]func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc){
	context.DeadlineExceeded: context.WithTimeout,
	context.Canceled: func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		time.AfterFunc(d, cancel)
		return ctx, cancel
	},
}

func checkCtxEndedWaiting(c *check) {
	a, b := c.open(), c.open()
	for i, l := range []lock.Locker{a, b} {
		for want, end := range endings {
			name := c.name(fmt.Sprint(i, want))
			h := c.hold(a, name)
			wait := func(d time.Duration) error {
				ctx, cancel := end(c.Ctx, d)
				defer cancel()
				waited := make(chan error, 1)
				if !c.Within(d+soon, c.Go(func() { waited <- l.WithLock(ctx, name, c.never("though its ctx has ended")) })) {
					return fmt.Errorf("no error %v after the end", soon)
				}
				return <-waited
			}
			err := wait(beat)
			for d := 10 * beat; d <= 100*beat && errors.Is(err, want) && !errors.Is(err, rmw.ErrContended); d *= 10 {
				err = wait(d) // a slow store had not said yet that the lock is taken
			}
			if !errors.Is(err, rmw.ErrContended) || !errors.Is(err, want) {
				c.Errorf("a wait that ended with its ctx: %v, want ErrContended and %v", err, want)
			}
			c.taken(name, "after a waiter gave up")
			c.give(h)
			c.Pass(beat) // in which a waiter that is gone could take it
			c.undone(name, "after the holder returned and the waiter had given up")
		}
	}
}

func checkEverybody(c *check) {
	const lockers, workers, turns = 4, 5, 2
	name := c.name("")
	h := c.hold(c.open(), name)
	var served atomic.Int64
	var ended []<-chan struct{}
	for range lockers {
		l := c.open()
		for range workers {
			ended = append(ended, c.Go(func() {
				for range turns {
					c.lock(l, name, func(context.Context) error { served.Add(1); return nil })
				}
			}))
		}
	}
	c.Pass(beat) // they all wait
	c.give(h)
	for _, e := range ended {
		<-e
	}
	if n := served.Load(); n != lockers*workers*turns {
		c.Errorf("%d of %d turns were given", n, lockers*workers*turns)
	}
	c.free(name, "after everybody")
}
