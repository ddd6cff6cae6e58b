package observe

import (
	"context"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Locks returns an Observer that records the events of a Locker. service names the lock service. The
// operation of a lock by itself is the name of [rmw.WithOperation] alone, since it has no Key.
func (r *Recorder) Locks(service string) lock.Observer {
	service = Valid(service)
	return once(r, r.services, service, func() *lockService { return newLockService(r.open, service, r.options) }).observe
}

// lockService has the series of a lock service.
type lockService struct {
	jeopardy, held, waiters Record
	lost                    map[lock.Loss]Record
	locks                   *budget[*lockSeries]
}

// lockSeries are the series of the locks of one operation.
type lockSeries struct {
	wait outcomes
	hold Record
}

func newLockService(open Open, service string, o Options) *lockService {
	openAll(open, LockWait, service, o)
	s := &lockService{
		jeopardy: open(LockJeopardy, service), held: open(LocksHeld, service), waiters: open(LockWaiters, service),
		lost: map[lock.Loss]Record{},
		locks: newBudget(o, func(operation string) *lockSeries {
			return &lockSeries{newOutcomes(open, LockWait, service, operation), open(LockHold, service, operation)}
		}),
	}
	s.held(context.Background(), 0)
	s.waiters(context.Background(), 0)
	for _, reason := range append(lock.Losses(), Other) {
		s.lost[reason] = open(LocksLost, service, string(reason))
		s.lost[reason](context.Background(), 0)
	}
	return s
}

func (s *lockService) observe(ctx context.Context, e lock.Event) {
	series := s.locks.get(labelOf(ctx, rmw.Key{Label: e.Label}))
	switch took := e.Took.Seconds(); e.Kind {
	case lock.EventAcquired:
		series.wait.record(ctx, OK, took)
		s.held(ctx, 1)
	case lock.EventRefused:
		series.wait.record(ctx, Reason(e.Err), took)
	case lock.EventSafe:
		s.jeopardy(ctx, took)
	case lock.EventWaiting:
		s.waiters(ctx, 1)
	case lock.EventWaitEnded:
		s.waiters(ctx, -1)
	case lock.EventLost:
		count, known := s.lost[e.Loss]
		if !known { // a Locker of another package
			count = s.lost[Other]
		}
		count(ctx, 1)
		series.hold(ctx, took)
		s.held(ctx, -1)
	case lock.EventReleased:
		series.hold(ctx, took)
		s.held(ctx, -1)
	case lock.EventJeopardy, lock.EventWanted: // the next event tells how it ended
	}
}
