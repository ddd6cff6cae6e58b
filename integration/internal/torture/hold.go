package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

const (
	// holders is the number of goroutines of a process that only hold locks, each its own lock, for which
	// the other processes compete.
	holders = 3

	// remedyLease is the lease of locks that are tested for exclusion only: etcd permits none shorter.
	remedyLease = time.Second
)

// lockOnly is a lock without a store.
type lockOnly struct{ closing }

func (lockOnly) Read(context.Context, rmw.Key) (rmw.Value, error) {
	return rmw.Value{}, rmw.ErrUnsupported
}

func (lockOnly) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{}, rmw.ErrUnsupported
}

// holds returns the works of a process that holds locks.
func holds() (all []Work) {
	for i := range holders {
		all = append(all, Work{Name: "holds", step: func(w *worker) Outcome { return w.hold(i) }})
	}
	return all
}

// hold holds a lock, mostly for a short time, sometimes for longer than a lease, and checks repeatedly
// whether it is still held.
func (w *worker) hold(which int) Outcome {
	ctx, cancel := w.limited()
	defer cancel()
	stay := within(w.rng, 0, remedyLease/20)
	if w.rng.IntN(8) == 0 {
		stay = within(w.rng, 0, remedyLease*3/2)
	}
	name := fmt.Sprintf("hold-%d", which)
	s := Section{Process: w.number, Names: []string{name}}
	err := w.store.(withLock).WithLock(ctx, name, func(ctx context.Context) error {
		s.Enter = w.history.now()
		s.held(ctx, w.history.now)
		for end := s.Enter + stay; ctx.Err() == nil && w.history.now() < end; {
			_ = pause(ctx, 2*time.Millisecond)
			s.held(ctx, w.history.now)
		}
		return nil
	})
	return w.end(&s, err)
}
