package locktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/lock"
)

// Target is the subject of the suite: Lockers, their promises beyond the
// minimum, and faults below them.
type Target struct {
	// Open returns a Locker. Each call stands for one more process: a Locker
	// must share nothing with the others but the locks. The opener closes
	// them, by tb.Cleanup; the clause may have closed one that is an io.Closer
	// before, so closing twice must be fine. Open ends the test if it cannot.
	Open func(tb testing.TB) lock.Locker

	// Reentrant tells that the holder of a lock may take it again with fn's ctx.
	// Otherwise that has to be refused.
	Reentrant bool

	// Tokens tells that the locks have fencing tokens. Otherwise lock.Token has to
	// fail with rmw.ErrUnsupported.
	Tokens bool

	// Lease is how long a lock outlives a holder that has vanished: its expiry,
	// or the timeout of its session. 0 means never, or not known; then the
	// clauses about it are skipped. The clause "renewed" holds a lock for two and
	// a half of it, so in real time make it short: a second or two.
	Lease time.Duration

	// ReleasedWithin is how long a lock may still be taken once WithLock has
	// returned, for Lockers that give it back behind the caller's back. 0 means
	// that it is free by then. It must be well below Lease, or a lock that was
	// left behind could not be told from one that is on its way.
	ReleasedWithin time.Duration

	// Faults disturbs what lies below the Lockers.
	Faults Faults

	// Patience bounds how long a clause may take; 0 means 60 s. A Locker that
	// waits beyond it fails.
	Patience time.Duration
}

// Faults are ways to disturb what lies below the Lockers. Of those that are nil
// the clauses are skipped.
type Faults struct {
	// TakeAway ends the lock without its holder, as a DEL does, or the end of
	// a session: when it has returned,
	// the lock is free. name is as the Lockers were given it.
	TakeAway func(ctx context.Context, name string) error

	// Cut makes the store unreachable for one Locker that Open returned, and
	// for no other, until restore is called. Connections that are open break.
	Cut func(l lock.Locker) (restore func())

	// Stall stops the process of one Locker that Open returned for d, as SIGSTOP
	// does: when it returns, d has passed on the clock that the Locker reads, and
	// none of the Locker's goroutines has run. It need not stop the store.
	Stall func(l lock.Locker, d time.Duration)
}

const soon = suite.Soon

// beat is how long a clause lets others get ahead, where it has no means to see
// that they have.
const beat = 50 * time.Millisecond

func (t Target) patience() time.Duration {
	if t.Patience == 0 {
		return 60 * time.Second
	}
	return t.Patience
}

// validate returns what makes the Target useless as a judge.
func (t Target) validate() error {
	switch {
	case t.Open == nil:
		return fmt.Errorf("Target.Open is nil; it has to open a Locker")
	case t.Lease > 0 && t.Lease < 2*(t.ReleasedWithin+2*beat):
		return fmt.Errorf("Target.Lease is %v, with locks that may be released within %v; use at least %v, or a lock left behind ends before it is noticed",
			t.Lease, t.ReleasedWithin, 2*(t.ReleasedWithin+2*beat))
	}
	return nil
}

// The needs of clauses. Each returns the missing declaration.

func reentrant(t Target) string {
	if !t.Reentrant {
		return "this Locker is not reentrant"
	}
	return ""
}

func notReentrant(t Target) string {
	if t.Reentrant {
		return "this Locker is reentrant"
	}
	return ""
}

func tokens(t Target) string {
	if !t.Tokens {
		return "this Locker has no tokens"
	}
	return ""
}

func noTokens(t Target) string {
	if t.Tokens {
		return "this Locker has tokens"
	}
	return ""
}

func lease(t Target) string {
	switch {
	case t.Lease == 0:
		return "this Target declares no lease"
	case 3*t.Lease > t.patience():
		return fmt.Sprintf("three leases of %v are more than its patience of %v", t.Lease, t.patience())
	}
	return ""
}

func takeAway(t Target) string {
	if t.Faults.TakeAway == nil {
		return "this Target cannot take a lock away"
	}
	return ""
}

func cut(t Target) string {
	if t.Faults.Cut == nil {
		return "this Target cannot cut a Locker off"
	}
	return ""
}

func stall(t Target) string {
	if t.Faults.Stall == nil {
		return "this Target cannot stall a Locker"
	}
	return ""
}
