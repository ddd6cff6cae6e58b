package locktest

import (
	"fmt"
	"slices"
	"time"
)

// need is a condition of a clause. It returns the missing declaration, or "".
type need = func(Target) string

// unless returns the need of a declaration.
func unless(declared func(Target) bool, missing string) need {
	return func(t Target) string {
		if declared(t) {
			return ""
		}
		return missing
	}
}

var (
	reentrant    = unless(func(t Target) bool { return t.Reentrant }, "this Locker is not reentrant")
	notReentrant = unless(func(t Target) bool { return !t.Reentrant }, "this Locker is reentrant")
	tokens       = unless(func(t Target) bool { return t.Tokens }, "this Locker has no tokens")
	noTokens     = unless(func(t Target) bool { return !t.Tokens }, "this Locker has tokens")
	lockDelay    = unless(func(t Target) bool { return t.LockDelay > 0 }, "this Locker has no lock delay")
	ordered      = unless(func(t Target) bool { return t.Ordered }, "this Locker keeps no order")
	fair         = unless(func(t Target) bool { return t.Ordered || t.Fair }, "this Locker is not fair")
	maxHold      = unless(func(t Target) bool { return t.MaxHold > 0 }, "this Locker has no MaxHold")
	noMaxHold    = unless(func(t Target) bool { return t.MaxHold == 0 }, "this Locker has a MaxHold")
	wanted       = unless(func(t Target) bool { return t.Wanted }, "this Locker does not tell that others wait")
	session      = unless(func(t Target) bool { return t.Session }, "this Locker has no session")
	jeopardy     = unless(func(t Target) bool { return t.Jeopardy }, "this Locker does not tell jeopardy")
	checks       = unless(func(t Target) bool { return t.Checks }, "this Locker checks no sequencers")
	inspects     = unless(func(t Target) bool { return t.Inspects }, "this Locker shows no locks")
	data         = unless(func(t Target) bool { return t.Data }, "this Locker stores no data")
	steadyClock  = unless(func(t Target) bool { return t.SteadyClock }, "the leases of this Locker follow a wall clock")
	observe      = unless(func(t Target) bool { return t.Observe != nil }, "this Locker has no events")
	share        = unless(func(t Target) bool { return t.Share != nil }, "this Locker shares no client")
	requests     = unless(func(t Target) bool { return t.Requests != nil }, "this Target does not count requests")

	takeAway  = unless(func(t Target) bool { return t.Faults.TakeAway != nil }, "this Target cannot take a lock away")
	cut       = unless(func(t Target) bool { return t.Faults.Cut != nil }, "this Target cannot cut a Locker off")
	stall     = unless(func(t Target) bool { return t.Faults.Stall != nil }, "this Target cannot stall a Locker")
	loseReply = unless(func(t Target) bool { return t.Faults.LoseReply != nil }, "this Target cannot lose a reply")
	late      = unless(func(t Target) bool { return t.Faults.Late != nil }, "this Target cannot hold back a request")
	reconnect = unless(func(t Target) bool { return t.Faults.Reconnect != nil }, "this Target cannot break a connection")
	expire    = unless(func(t Target) bool { return t.Faults.Expire != nil }, "this Target cannot end a session")
	restart   = unless(func(t Target) bool { return t.Faults.Restart != nil }, "this Target cannot restart the lock service")
	failover  = unless(func(t Target) bool { return t.Faults.Failover != nil }, "this Target cannot fail over")
	clock     = unless(func(t Target) bool { return t.Faults.Clock != nil }, "this Target cannot set the clock of the lock service")

	lease      = leases(3)
	manyLeases = leases(31)
)

// outage is the need of any fault after which tokens have to grow.
var outage = unless(func(t Target) bool { return len(t.outages()) > 0 }, "this Target cannot disturb the lock service")

// fault is a fault that a clause survives, and its end.
type fault struct {
	name       string
	begin, end func()
}

// outages are the faults after which tokens have to grow.
func (t Target) outages() []fault {
	back := fault{name: "setting the clock back"}
	if set := t.Faults.Clock; set != nil {
		back.begin, back.end = func() { set(-time.Hour) }, func() { set(time.Hour) }
	}
	return slices.DeleteFunc([]fault{
		{"a restart", t.Faults.Restart, func() {}},
		{"a failover", t.Faults.Failover, func() {}},
		back,
		{"a failover that lost all data", t.Faults.Forget, func() {}},
	}, func(f fault) bool { return f.begin == nil })
}

// leases is the need of a lease, n of which pass within the patience.
func leases(n time.Duration) need {
	return func(t Target) string {
		switch {
		case t.Lease == 0:
			return "this Target declares no lease"
		case n*t.Lease > t.patience():
			return fmt.Sprintf("%d leases of %v are more than its patience of %v", n, t.Lease, t.patience())
		}
		return ""
	}
}
