package redlock

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Config tunes a [Locker]. The zero Config works.
type Config struct {
	// Lease is how long a lock outlives a process that died with it. It is
	// renewed at each third. Default 10 s, at least 10 ms, in whole milliseconds; what
	// is beyond them is cut off. It should exceed the worst stall you want to sit
	// out without a second holder.
	Lease time.Duration

	// LockDelay keeps a lock from other processes for this time after its lease has
	// ended without a release, because its process crashed or lost the lock: requests of
	// the old holder that are still on their way can arrive first. A release frees the
	// lock at once. Default 0.
	LockDelay time.Duration

	// MaxWait bounds the wait of WithLock; then it fails with rmw.ErrContended.
	// Default 0: only ctx bounds it.
	MaxWait time.Duration

	// MaxHold ends the renewal, and fn's ctx, when a lock has been held this
	// long: a stuck fn must not lock a name forever. Default 1 min.
	MaxHold time.Duration

	// NodeTimeout is how long an answer of a node is waited for; after that, the
	// node counts as down. While a minority hangs, an attempt that succeeds is not
	// delayed at all, and one that fails by twice this much at most. Default a
	// fiftieth of Lease, but 5 ms to 200 ms; at most a quarter of Lease.
	NodeTimeout time.Duration

	// Drift is how much faster than ours the nodes' clocks may run, summed over
	// a lease: this much of each lease is not used. Default a hundredth of Lease,
	// plus 2 ms for the precision of expiries; at most half of Lease.
	Drift time.Duration

	// Poll is the delay between attempts to take a lock that is taken: a random
	// share of a growing ceiling, so that attempts that split the votes do not do so
	// again. Default 2 ms, doubling up to 128 ms.
	Poll rmw.Backoff

	// Observer is told of the events of locks. Default none.
	Observer lock.Observer
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.MaxHold = cmp.Or(c.MaxHold, time.Minute)
	c.NodeTimeout = cmp.Or(c.NodeTimeout, min(max(c.Lease/50, 5*time.Millisecond), 200*time.Millisecond, c.Lease/4))
	c.Drift = cmp.Or(c.Drift, c.Lease/100+2*time.Millisecond)
	c.Poll.Base = cmp.Or(c.Poll.Base, 2*time.Millisecond)
	c.Poll.Max = cmp.Or(c.Poll.Max, max(128*time.Millisecond, c.Poll.Base))
	c.Lease = c.Lease.Truncate(time.Millisecond) // as the nodes count it
	return c
}

// Validate reports, as an [rmw.ErrInvalid], what cannot work. A Locker made with
// such a Config returns that error from every call.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Lease < 10*time.Millisecond:
		return invalid("Lease is %v; use at least 10ms, or 0 for the default", c.Lease)
	case c.LockDelay < 0 || c.LockDelay > math.MaxInt64-c.Lease:
		return invalid("LockDelay is %v; use a positive duration, or 0 for none", c.LockDelay)
	case c.MaxWait < 0:
		return invalid("MaxWait is %v; use a positive duration, or 0 for no limit but ctx", c.MaxWait)
	case c.MaxHold < 0:
		return invalid("MaxHold is %v; use a positive duration, or 0 for the default", c.MaxHold)
	case c.NodeTimeout < 0 || c.NodeTimeout > c.Lease/4:
		return invalid("NodeTimeout is %v; use at most %v, a quarter of Lease, or a renewal that fails cannot be tried again", c.NodeTimeout, c.Lease/4)
	case c.Drift < 0 || c.Drift > c.Lease/2:
		return invalid("Drift is %v; use at most %v, half of Lease, or nothing is left of it", c.Drift, c.Lease/2)
	case c.Poll.Base < 0 || c.Poll.Max < 0:
		return invalid("Poll is %+v; use positive durations", c.Poll)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: redlock.Config."+format, append([]any{rmw.ErrInvalid}, args...)...)
}

// expiry is the time after which the nodes end a lock that is not renewed.
func (c Config) expiry() time.Duration { return c.Lease + c.LockDelay }
