package torture

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// atRest has the size of a load while no call is in flight. Calls in flight have goroutines and buffers, more of
// them on a busy machine, so a sample beside them shows no leak.
type atRest struct {
	Heap       uint64 // live objects after a garbage collection
	Goroutines int
}

// rest waits until goroutines have ended that calls have left behind for up to a lease, for loadSettled at most.
// A goroutine that has not ended by then is leaked.
func (l *loading) rest(ctx context.Context) (r atRest) {
	const few = processes + 1 // one of each store, and this one
	ctx, cancel := context.WithTimeout(ctx, loadSettled)
	defer cancel()
	for r.Goroutines = goroutines(l.label); r.Goroutines > few && pause(ctx, 20*time.Millisecond) == nil; {
		r.Goroutines = min(r.Goroutines, goroutines(l.label))
	}
	for _, side := range l.env.stores() {
		if side.codis != nil {
			side.codis.ResetCalls() // the log of the in-process proxy would look like growth of the stores
		}
	}
	runtime.GC() // the second one frees objects that the first one finalized
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	r.Heap = live[0].Value.Uint64()
	return r
}

// closed records the close of all stores at once, with calls in flight.
type closed struct {
	Calls  int64 // in flight when Close was called
	Inside int64 // of these with a running function

	Took      time.Duration // of the slowest Close of a store that takes the lock at once
	OnDemand  time.Duration // likewise of one that takes it on demand
	Errors    []string      // of Close
	Unended   int64         // calls without a result after all Close had returned
	Abandoned int64         // calls that were refused after their function was called
	Admitted  int           // stores that accepted a new call afterwards

	Locks       []string // left on the servers
	Connections int      // left after all was closed
	Goroutines  int      // likewise
}

// close closes the stores, with slow calls in flight unless the load was interrupted.
func (l *loading) close(ctx context.Context, busy bool) (c closed, err error) {
	var all sync.WaitGroup
	if l.part.Store(int32(closing)); busy {
		l.start(context.Background(), &all)
		err = l.awaitInside(ctx)
	}
	c.Calls, c.Inside = l.calls.Load(), l.inside.Load()
	began := time.Now()
	var stores sync.WaitGroup
	errs, took := make([]error, len(l.members)), make([]time.Duration, len(l.members))
	for i, m := range l.members {
		stores.Go(func() {
			errs[i] = m.Close()
			took[i] = time.Since(began)
		})
	}
	stores.Wait()
	for i := range took {
		of := &c.Took
		if onDemand(i) {
			of = &c.OnDemand
		}
		*of = max(*of, took[i])
	}
	for _, err := range errs {
		if err != nil {
			c.Errors = append(c.Errors, err.Error())
		}
	}
	if !ended(&all, loadSettled) { // callers must wake up to be counted out
		c.Unended = l.calls.Load()
	}
	same := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
	for _, m := range l.members {
		if _, err := m.Update(context.Background(), rmw.Key{Name: keyPrefix + "late"}, same); !errors.Is(err, rmw.ErrClosed) {
			c.Admitted++
		}
	}
	c.Abandoned = l.abandoned.Load()
	return c, err
}

// awaitInside waits until most calls are inside their function.
func (l *loading) awaitInside(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loadPatience, errors.New("the workers do not come to call their functions"))
	defer cancel()
	for l.inside.Load() < int64(l.loadSize.goroutines/2) {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
