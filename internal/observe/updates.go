package observe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Updates returns a middleware that records each Update, Transact and Read of a Store. path names the Store.
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
	// A path that never updates several keys has no series of a Transact.
	openTransacts := sync.OnceFunc(func() { openAll(open, TransactDuration, path, o) })
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
			transacts: sync.OnceValue(func() *transactSeries {
				openTransacts()
				return &transactSeries{
					updateSeries: updateSeries{
						duration: newOutcomes(open, TransactDuration, path, operation),
						wait:     open(TransactWait, path, operation), attempts: open(TransactAttempts, path, operation), unknown: unknown,
					},
					keys: open(TransactKeys, path, operation),
				}
			}),
		}
	})
	for _, c := range *calls.kept.Load() {
		c.updates()
	}
	return calls
}

// callSeries are the series of one operation, opened at the first Update, the first Read and the first Transact.
type callSeries struct {
	updates   func() *updateSeries
	reads     func() *outcomes
	transacts func() *transactSeries
}

// updateSeries are the series of the updates of one operation.
type updateSeries struct {
	duration                outcomes
	wait, attempts, unknown Record
}

// transactSeries are the series of the updates of several keys of one operation.
type transactSeries struct {
	updateSeries
	keys Record
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
	defer func() { series.record(ctx, reason, time.Since(began), res.Attempts, res.Waited) }()
	res, err = s.next.Update(ctx, key, fn)
	if reason = Reason(err); reason == outcomeUnknown && isOwn(err, key) {
		series.unknown(ctx, 1)
	}
	return res, err
}

// Transact implements [rmw.Transactor] if a Store below does. Its operation is that of the first key.
func (s *store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (res rmw.TxResult, err error) {
	series := s.calls.get(labelOf(ctx, First(keys))).transacts()
	began, reason := time.Now(), Panic
	defer func() {
		series.record(ctx, reason, time.Since(began), res.Attempts, res.Waited)
		series.keys(ctx, float64(Keys(keys, res)))
	}()
	res, err = rmw.Transact(ctx, s.next, fn, keys...)
	if reason = Reason(err); reason == outcomeUnknown && isOwnTransact(err, keys) {
		series.unknown(ctx, 1)
	}
	return res, err
}

// First returns the key that names the operation of a Transact.
func First(keys []rmw.Key) rmw.Key {
	if len(keys) == 0 {
		return rmw.Key{}
	}
	return keys[0]
}

// Keys returns the number of keys of a Transact; of one that failed, of those in the call.
func Keys(keys []rmw.Key, res rmw.TxResult) int {
	if n := len(res.Changes); n > 0 {
		return n
	}
	return len(keys)
}

// isOwnTransact is isOwn for a Transact. An error about a key that fn mentioned has the Op of a Transact.
func isOwnTransact(err error, keys []rmw.Key) bool {
	e, ok := errors.AsType[*rmw.Error](err)
	return !ok || e.Op == string(rmw.OpTransact) || slices.ContainsFunc(keys, func(key rmw.Key) bool { return isOwn(err, key) })
}

// isOwn reports whether the error of an update is its own, and not that of an inner update, which fn
// returned: that has another key.
func isOwn(err error, key rmw.Key) bool {
	e, ok := errors.AsType[*rmw.Error](err)
	return !ok || e.Key == "" || e.Key == key.Name
}

func (u *updateSeries) record(ctx context.Context, reason string, elapsed time.Duration, attempts int, waited time.Duration) {
	u.duration.record(ctx, reason, elapsed.Seconds())
	if reason == Panic {
		return // there is no Result
	}
	u.wait(ctx, waited.Seconds())
	if attempts > 0 {
		u.attempts(ctx, float64(attempts))
	}
}

// Commits returns what records the number of updates in a combined commit. path names the Store.
func (r *Recorder) Commits(path string) func(updates int) {
	sizes := r.open(CommitUpdates, Valid(path))
	return func(updates int) { sizes(context.Background(), float64(updates)) }
}
