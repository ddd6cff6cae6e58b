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

	// LockDelay is the time for which a lock stays taken after the lease of a holder
	// that crashed: LockDelay of the Lockers' Config. 0 means none.
	LockDelay time.Duration

	// SlackAfterLease is how much later than Lease and LockDelay a waiter may get the
	// lock of a crashed holder: for its polls, and for the ticks by which the lock
	// service ends leases. 0 means 4 s.
	SlackAfterLease time.Duration

	// MaxHold is the time after which a Locker loses a lock: MaxHold of its Config. 0 means
	// never. It must be at least four leases, since other clauses hold locks.
	MaxHold time.Duration

	// Session tells that a Locker loses all of its locks if it loses one.
	Session bool

	// Ordered tells that waiters get a lock in the order of their arrival, whichever
	// Lockers they use.
	Ordered bool

	// Queued counts the holder of a lock and those that wait for it. nil means that a waiter has
	// arrived within 50 ms, as it has in fake time.
	Queued func(name string) int

	// Fair tells that no Locker starves while others take the lock again and again. An
	// Ordered lock is fair.
	Fair bool

	// Jeopardy tells that the state of a lock is lock.Jeopardy if a renewal fails.
	Jeopardy bool

	// Wanted tells that a holder has the event lock.EventWanted while others wait, and
	// that Inspect shows that there are Waiters.
	Wanted bool

	// Checks, Inspects and Data tell that the Lockers are lock.Checkers and
	// lock.Inspectors, and that Inspect shows the data of lock.WithData.
	Checks, Inspects, Data bool

	// SteadyClock tells that leases do not depend on the wall clock of the lock
	// service. If that clock is set forward, other locks are lost without a warning.
	SteadyClock bool

	// Observe opens a Locker as Open does, with the Observer o. nil means that the Lockers
	// have no events.
	Observe func(tb testing.TB, o lock.Observer) lock.Locker

	// Share opens two Lockers over one client of the lock service. nil means that the
	// Lockers share no clients.
	Share func(tb testing.TB) (a, b lock.Locker)

	// Requests counts the requests that this Target's Lockers sent. Leave it nil for Lockers that poll.
	Requests func() int

	// Faults disturbs what lies below the Lockers.
	Faults Faults

	// Patience bounds how long a clause may take; 0 means 60 s. A Locker that
	// waits beyond it fails.
	Patience time.Duration
}

// Faults are ways to disturb what lies below the Lockers. The clauses that need a nil one
// are skipped. l is always a Locker that Open returned.
type Faults struct {
	// TakeAway ends the lock without its holder, as a DEL does, or the end of
	// a session: when it has returned,
	// the lock is free. name is as the Lockers were given it.
	TakeAway func(ctx context.Context, name string) error

	// Cut makes the lock service unreachable for l, and for no other, until restore is
	// called. Connections that are open break. Without restore it is a crash of l.
	Cut func(l lock.Locker) (restore func())

	// Stall stops the process of l for d, as SIGSTOP does: when it returns, d has passed
	// on the clock that l reads, and none of l's goroutines has run. It need not stop the
	// lock service.
	Stall func(l lock.Locker, d time.Duration)

	// LoseReply lets the lock service execute the requests of l and loses the replies,
	// until restore is called. Connections break instead.
	LoseReply func(l lock.Locker) (restore func())

	// Late holds back the requests of l until deliver is called. Then the lock service
	// executes them, although l may have given up. Later requests are not held back.
	Late func(l lock.Locker) (deliver func())

	// Reconnect breaks the connections of l. New ones can be made at once.
	Reconnect func(l lock.Locker)

	// Expire ends the session of l at the lock service, with all of l's locks and places
	// among those that wait. The network works on.
	Expire func(l lock.Locker)

	// Restart stops the lock service and starts it again with its data.
	Restart func()

	// Failover lets another server take over. It has all that was acknowledged.
	Failover func()

	// Forget makes the lock service lose all of its data, as a failover to an empty
	// replica does.
	Forget func()

	// Clock sets the wall clock of the lock service forward by d, or back if d is
	// negative.
	Clock func(d time.Duration)
}

const soon = suite.Soon

// beat is how long a clause lets others get ahead, where it has no means to see
// that they have.
const beat = 50 * time.Millisecond

// hears is a wait in which a slow service says that the lock is taken.
const hears = soon / 4

func (t Target) patience() time.Duration {
	if t.Patience == 0 {
		return 60 * time.Second
	}
	return t.Patience
}

// deadFor returns how long a waiter may wait for the lock of a crashed holder.
func (t Target) deadFor() time.Duration {
	slack := t.SlackAfterLease
	if slack == 0 {
		slack = soon
	}
	return t.Lease + t.LockDelay + slack
}

// validate returns what makes the Target useless as a judge.
func (t Target) validate() error {
	switch {
	case t.Open == nil:
		return fmt.Errorf("Target.Open is nil; it has to open a Locker")
	case t.LockDelay > 0 && t.Lease == 0:
		return fmt.Errorf("Target.LockDelay is %v without a Lease; declare both", t.LockDelay)
	case t.MaxHold > 0 && t.MaxHold < 4*t.Lease:
		return fmt.Errorf("Target.MaxHold is %v with a Lease of %v; use at least %v", t.MaxHold, t.Lease, 4*t.Lease)
	case t.Lease > 0 && t.Lease < 2*(t.ReleasedWithin+2*beat):
		return fmt.Errorf("Target.Lease is %v, with locks that may be released within %v; use at least %v, or a lock left behind ends before it is noticed",
			t.Lease, t.ReleasedWithin, 2*(t.ReleasedWithin+2*beat))
	}
	return nil
}
