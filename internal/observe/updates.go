package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Updates returns a middleware that records each Update and Read of a Store. path names the Store.
// A call that fn leaves by a panic is recorded, too.
func (r *Recorder) Updates(path string) rmw.Middleware {
	path = Valid(path)
	calls := once(r, r.paths, path, func() *budget[*callSeries] { return newCalls(r.open, path, r.options) })
	return func(next rmw.Store) rmw.Store { return &store{next, calls} }
}

func newCalls(open Open, path string, o Options) *budget[*callSeries] {
	openAll(open, UpdateDuration, path, o)
	openAll(open, ReadDuration, path, o)
	unknown := open(UpdatesUnknown, path)
	unknown(context.Background(), 0)
	calls := newBudget(o, func(operation string) *callSeries {
		return &callSeries{
			updates: sync.OnceValue(func() *updateSeries {
				return &updateSeries{
					duration: newOutcomes(open, UpdateDuration, path, operation),
					wait:     open(UpdateWait, path, operation), attempts: open(UpdateAttempts, path, operation), unknown: unknown,
				}
			}),
			reads: sync.OnceValue(func() *outcomes {
				o := newOutcomes(open, ReadDuration, path, operation)
				return &o
			}),
		}
	})
	for _, c := range *calls.kept.Load() {
		c.updates()
	}
	return calls
}

// callSeries are the series of one operation, opened at the first Update and at the first Read.
type callSeries struct {
	updates func() *updateSeries
	reads   func() *outcomes
}

// updateSeries are the series of the updates of one operation.
type updateSeries struct {
	duration                outcomes
	wait, attempts, unknown Record
}

type store struct {
	next  rmw.Store
	calls *budget[*callSeries]
}

func (s *store) Unwrap() rmw.Store { return s.next }

func (s *store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	series := s.calls.get(labelOf(ctx, key)).reads()
	began := time.Now()
	v, err := s.next.Read(ctx, key)
	series.record(ctx, Reason(err), time.Since(began).Seconds())
	return v, err
}

func (s *store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	series := s.calls.get(labelOf(ctx, key)).updates()
	began, reason := time.Now(), Panic
	defer func() { series.record(ctx, reason, time.Since(began), &res) }()
	res, err = s.next.Update(ctx, key, fn)
	if reason = Reason(err); reason == outcomeUnknown && isOwn(err, key) {
		series.unknown(ctx, 1)
	}
	return res, err
}

// isOwn reports whether the error of an update is its own, and not that of an inner update, which fn
// returned: that has another key.
func isOwn(err error, key rmw.Key) bool {
	e, ok := errors.AsType[*rmw.Error](err)
	return !ok || e.Key == "" || e.Key == key.Name
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
}

// Commits returns what records the number of updates in a combined commit. path names the Store.
func (r *Recorder) Commits(path string) func(updates int) {
	sizes := r.open(CommitUpdates, Valid(path))
	return func(updates int) { sizes(context.Background(), float64(updates)) }
}
