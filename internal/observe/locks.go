package observe

import (
	"context"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Locks returns an Observer that records the events of a Locker. service names the lock service. The
// operation of a lock is the name of [rmw.WithOperation] alone, since a lock has no Key.
func Locks(open Open, service string, o Options) lock.Observer {
	service = Valid(service)
	openAll(open, LockWait, service, o)
	jeopardy, held, waiters := open(LockJeopardy, service), open(LocksHeld, service), open(LockWaiters, service)
	held(context.Background(), 0)
	waiters(context.Background(), 0)
	lost := map[lock.Loss]Record{}
	for _, reason := range lock.Losses() {
		lost[reason] = open(LocksLost, service, string(reason))
		lost[reason](context.Background(), 0)
	}
	locks := newBudget(o, func(operation string) *lockSeries {
		return &lockSeries{newOutcomes(open, LockWait, service, operation), open(LockHold, service, operation)}
	})
	return func(ctx context.Context, e lock.Event) {
		series := locks.get(labelOf(ctx, rmw.Key{}))
		switch took := e.Took.Seconds(); e.Kind {
		case lock.EventAcquired:
			series.wait.record(ctx, OK, took)
			held(ctx, 1)
		case lock.EventRefused:
			series.wait.record(ctx, Reason(e.Err), took)
		case lock.EventSafe:
			jeopardy(ctx, took)
		case lock.EventWaiting:
			waiters(ctx, 1)
		case lock.EventWaitEnded:
			waiters(ctx, -1)
		case lock.EventLost:
			count := lost[e.Loss]
			if count == nil { // a Locker of another package
				count = open(LocksLost, service, Other)
			}
			count(ctx, 1)
			series.hold(ctx, took)
			held(ctx, -1)
		case lock.EventReleased:
			series.hold(ctx, took)
			held(ctx, -1)
		case lock.EventJeopardy, lock.EventWanted: // the next event tells how it ended
		}
	}
}

// lockSeries are the series of the locks of one operation.
type lockSeries struct {
	wait outcomes
	hold Record
}
