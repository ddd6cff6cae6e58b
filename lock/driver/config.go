package driver

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/unwatch/unwatch/internal/leaseclock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Config tunes a [Locker]. The zero Config works.
type Config struct {
	// Lease is the time for which a lock outlives a process that crashed with it. It is
	// renewed at each third. Default 10 s, at least 10 ms.
	Lease time.Duration

	// LockDelay keeps a lock from other processes for this time after its lease has ended
	// without a release: requests of the former holder that are still on their way can
	// arrive first. So a lock that was lost by the end of its lease or by MaxHold is not freed
	// when its function returns. A release of a held lock frees it at once. Default 0.
	LockDelay time.Duration

	// MaxWait bounds the wait of WithLock and Lock; then they return rmw.ErrContended.
	// Default 0: only ctx bounds it.
	MaxWait time.Duration

	// MaxHold ends the lock when it has been held for this time, so that a stuck fn does
	// not hold it for ever. Default 0: for hours or days, as long as it is renewed.
	MaxHold time.Duration

	// Poll is the pause between attempts for a lock that another process holds, for
	// services that do not tell when it becomes free. Default 5 ms, doubling up to 250 ms.
	Poll rmw.Backoff

	// Observer is told of the events of locks, and can log them: a Locker has no logger of its
	// own. Default none.
	Observer lock.Observer

	// Now is the clock that measures leases; tests replace it. Default time.Now plus the forward
	// jumps of the wall clock, since the monotonic clock stops while the machine is suspended.
	Now func() time.Time
}

// Expiry is the time after which the service ends a lease that is not renewed.
func (c Config) Expiry() time.Duration { return c.Lease + c.LockDelay }

// WithDefaults returns the Config with its defaults filled in.
func (c Config) WithDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Poll.Base = cmp.Or(c.Poll.Base, 5*time.Millisecond)
	c.Poll.Max = cmp.Or(c.Poll.Max, max(250*time.Millisecond, c.Poll.Base))
	if c.Now == nil {
		c.Now = leaseclock.New().Time
	}
	return c
}

// Validate returns an rmw.ErrInvalid for what cannot work. All calls of a Locker with such
// a Config return that error.
func (c Config) Validate() error {
	c = c.WithDefaults()
	for _, limit := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"Lease", c.Lease, 10 * time.Millisecond},
		{"LockDelay", c.LockDelay, 0},
		{"MaxWait", c.MaxWait, 0},
		{"MaxHold", c.MaxHold, 0},
		{"Poll.Base", c.Poll.Base, 0},
		{"Poll.Max", c.Poll.Max, 0},
	} {
		if limit.value < limit.least {
			return fmt.Errorf("%w: Config.%s is %v; use at least %v, or 0 for the default",
				rmw.ErrInvalid, limit.name, limit.value, limit.least)
		}
	}
	if c.LockDelay > math.MaxInt64-c.Lease {
		return fmt.Errorf("%w: Config.Lease plus Config.LockDelay is more than 292 years; use less", rmw.ErrInvalid)
	}
	return nil
}
