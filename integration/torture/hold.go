package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

const (
	// holders are the goroutines of a process that do nothing but hold locks, each one of its own
	// that the other processes want, too.
	holders = 3

	// remedyLease is that of locks of which only the exclusion is looked at: etcd has none shorter.
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

// holds are the works of a process that holds locks.
func holds() (all []Work) {
	for i := range holders {
		all = append(all, Work{Name: "holds", step: func(w *worker) Outcome { return w.hold(i) }})
	}
	return all
}

// hold holds a lock for a while, mostly shortly, sometimes for longer than a lease, and keeps
// looking whether it still does.
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
