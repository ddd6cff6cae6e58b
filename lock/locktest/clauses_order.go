package locktest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue has n waiters on n Lockers arrive one after the other, while the lock is held. It
// returns a function that frees the lock and waits for all of them. fn is called under the
// lock with the number of the waiter.
func (c *check) queue(name string, n int, fn func(waiter int)) (run func()) {
	h := c.hold(c.open(), name)
	var ended []<-chan struct{}
	for waiter := range n {
		l := c.open()
		ended = append(ended, c.Go(func() {
			c.lock(l, name, func(context.Context) error { fn(waiter); return nil })
		}))
		c.arrive(name, waiter+2)
	}
	return func() {
		c.give(h)
		wait(ended)
	}
}

// arrive returns when n Lockers hold the lock or wait for it.
func (c *check) arrive(name string, n int) {
	if c.Queued == nil {
		c.Pass(beat)
		return
	}
	for c.Queued(name) < n && c.Ctx.Err() == nil {
		c.Pass(time.Millisecond)
	}
}

func checkOrder(c *check) {
	const waiters = 8
	var served []int
	var mu sync.Mutex // for the race detector, which cannot see a lock on a server
	c.queue(c.name(""), waiters, func(waiter int) {
		mu.Lock()
		defer mu.Unlock()
		served = append(served, waiter)
	})()
	if !slices.IsSorted(served) || len(served) != waiters {
		c.Errorf("waiters that arrived as 0 to %d were served in the order %v", waiters-1, served)
	}
}

func checkBoundedWaiting(c *check) {
	const lockers, turns, held = 4, 160, 5 * time.Millisecond
	name := c.name("")
	var mu sync.Mutex // for the race detector, which cannot see a lock on a server
	given, of := 0, make([]int, lockers)
	h := c.hold(c.open(), name)
	var ended []<-chan struct{}
	for i := range lockers {
		l := c.open()
		ended = append(ended, c.Go(func() {
			for more := true; more && c.Ctx.Err() == nil; {
				c.lock(l, name, func(context.Context) error {
					c.Pass(held)
					mu.Lock()
					defer mu.Unlock()
					if more = given < turns; more {
						given++
						of[i]++
					}
					return nil
				})
			}
		}))
	}
	c.Pass(beat)
	c.give(h)
	wait(ended)
	for i, n := range of {
		if n < turns/lockers/3 {
			c.Errorf("of %d turns, Locker %d of %d got %d: %v", turns, i, lockers, n, of)
		}
	}
}

// checkNoHerd takes the cheapest hand-over, since renewals may fall into others.
func checkNoHerd(c *check) {
	const waiters, handOvers, most = 24, 8, 10
	var mu sync.Mutex // for the race detector, which cannot see a lock on a server
	last, cost := 0, []int{}
	run := c.queue(c.name(""), waiters, func(int) {
		c.Pass(beat) // in which the others could ask
		mu.Lock()
		defer mu.Unlock()
		now := c.Requests()
		cost = append(cost, now-last)
		last = now
	})
	last = c.Requests()
	run()
	switch cost = cost[:handOvers]; {
	case slices.Min(cost) == 0:
		c.Errorf("Requests of the Target does not count: hand-overs cost %v requests", cost)
	case slices.Min(cost) > most:
		c.Errorf("with %d waiters and fewer, hand-overs cost %v requests; want at most %d", waiters, cost, most)
	}
}
