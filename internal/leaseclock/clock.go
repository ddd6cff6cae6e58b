// Package leaseclock measures leases. The monotonic clock stops while the machine is suspended, or its virtual machine is
// paused or migrated, and the lease goes on at the server. The wall clock is corrected afterwards. So a Clock runs with the
// monotonic clock and adds each forward jump of the wall clock.
//
// A forward step of the wall clock without a suspend ends leases too early, which is safe. A step backwards has no effect.
package leaseclock

import (
	"math"
	"sync/atomic"
	"time"
)

// tolerance is the greatest jump that is ignored: the two clocks are not read at the same moment.
const tolerance = 5 * time.Millisecond

// Clock is safe for concurrent use. Make it with [New].
type Clock struct {
	epoch   time.Time // monotonic
	wall    time.Time // the same, by the wall clock
	stepped atomic.Int64
	last    atomic.Pointer[jump]
}

// jump is a step of the wall clock against the monotonic clock.
type jump struct {
	at            time.Duration // monotonic time since the epoch when a reading showed it
	offset        time.Duration // how far the wall clock is ahead of the monotonic clock since then
	before, ahead time.Duration // what the Clock adds to the monotonic clock before and since
}

// New returns a Clock that begins now.
func New() *Clock {
	now := time.Now()
	c := &Clock{epoch: now, wall: now.Round(0)}
	c.last.Store(&jump{at: math.MinInt64})
	return c
}

// Step moves the wall clock of c by d, as a suspend does afterwards. It is for tests.
func (c *Clock) Step(d time.Duration) { c.stepped.Add(int64(d)) }

// Now is the time since c began.
func (c *Clock) Now() time.Duration {
	t := time.Now()
	return c.read(t.Sub(c.epoch), t.Round(0).Sub(c.wall)+time.Duration(c.stepped.Load()))
}

// Time is Now as a time, for differences with another Time of c.
func (c *Clock) Time() time.Time { return c.epoch.Add(c.Now()) }

// At is what Now was at t.
func (c *Clock) At(t time.Time) time.Duration {
	monotonic := t.Sub(c.epoch)
	return monotonic + c.last.Load().aheadAt(monotonic)
}

func (c *Clock) read(monotonic, wall time.Duration) time.Duration {
	for {
		last := c.last.Load()
		step := wall - monotonic - last.offset
		if -tolerance <= step && step <= tolerance || monotonic < last.at {
			return monotonic + last.aheadAt(monotonic)
		}
		next := &jump{at: monotonic, offset: wall - monotonic, before: last.ahead, ahead: last.ahead + max(step, 0)}
		if c.last.CompareAndSwap(last, next) {
			return monotonic + next.ahead
		}
	}
}

func (j *jump) aheadAt(monotonic time.Duration) time.Duration {
	if monotonic < j.at {
		return j.before
	}
	return j.ahead
}
