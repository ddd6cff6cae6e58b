package observe

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Updates returns a middleware that records each Update and Read of a Store. path names the Store.
// A call that fn leaves by a panic is recorded, too.
func Updates(open Open, path string, o Options) rmw.Middleware {
	path = Valid(path)
	openAll(open, UpdateDuration, path, o)
	openAll(open, ReadDuration, path, o)
	unknown := open(UpdatesUnknown, path)
	unknown(context.Background(), 0)
	updates := newBudget(o, func(operation string) *updateSeries {
		return &updateSeries{
			duration: newOutcomes(open, UpdateDuration, path, operation),
			wait:     open(UpdateWait, path, operation), attempts: open(UpdateAttempts, path, operation), unknown: unknown,
		}
	})
	reads := newBudget(o, func(operation string) *outcomes {
		o := newOutcomes(open, ReadDuration, path, operation)
		return &o
	})
	return func(next rmw.Store) rmw.Store { return &store{next, updates, reads} }
}

// updateSeries are the series of the updates of one operation.
type updateSeries struct {
	duration                outcomes
	wait, attempts, unknown Record
}

type store struct {
	next    rmw.Store
	updates *budget[*updateSeries]
	reads   *budget[*outcomes]
}

func (s *store) Unwrap() rmw.Store { return s.next }

func (s *store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	series := s.reads.get(labelOf(ctx, key))
	began := time.Now()
	v, err := s.next.Read(ctx, key)
	series.record(ctx, Reason(err), time.Since(began).Seconds())
	return v, err
}

func (s *store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	series := s.updates.get(labelOf(ctx, key))
	began, reason := time.Now(), Panic
	defer func() { series.record(ctx, reason, time.Since(began), &res) }()
	res, err = s.next.Update(ctx, key, fn)
	reason = Reason(err)
	return res, err
}

func (u *updateSeries) record(ctx context.Context, reason string, elapsed time.Duration, res *rmw.Result) {
	u.duration.record(ctx, reason, elapsed.Seconds())
	if reason == Panic {
		return // there is no Result
	}
	u.wait(ctx, res.Waited.Seconds())
	if res.Attempts > 0 {
		u.attempts(ctx, float64(res.Attempts))
	}
	if reason == outcomeUnknown {
		u.unknown(ctx, 1)
	}
}

// Commits returns what records the number of updates in a combined commit. path names the Store.
func Commits(open Open, path string) func(updates int) {
	sizes := open(CommitUpdates, Valid(path))
	return func(updates int) { sizes(context.Background(), float64(updates)) }
}
