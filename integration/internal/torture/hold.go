package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
)

const (
	// holders is the number of goroutines of a process that only hold locks, each its own lock, for which
	// the other processes compete.
	holders = 3

	// holdLease is the lease of locks that are tested for exclusion only: etcd permits none shorter.
	holdLease = time.Second
)

// holds returns the works of a process that holds locks.
func holds() (all []Work) {
	for i := range holders {
		all = append(all, Work{Name: "holds", step: func(w *worker) Outcome { return w.hold(i) }})
	}
	return all
}

// hold holds a lock, mostly for a short time, sometimes for longer than a lease, and checks repeatedly
// whether it is still held. It writes to the external store at its beginning and its end. A heedless holder
// writes also when it has lost the lock, as one would that stalls between the check and the write.
func (w *worker) hold(which int) Outcome {
	ctx, cancel := w.limited()
	defer cancel()
	stay := within(w.rng, 0, holdLease/20)
	heedless := false
	switch n := w.rng.IntN(24); {
	case n < 3:
		stay = within(w.rng, 0, holdLease*3/2)
	case n == 3: // a Locker gives a lock back that it has lost when the lease is over at the service, too
		stay, heedless = within(w.rng, 2*holdLease, 3*holdLease), true
	}
	name := fmt.Sprintf("hold-%d", which)
	s := Section{Process: w.number, Names: []string{name}}
	err := w.store.(withLock).WithLock(ctx, name, func(ctx context.Context) error {
		s.Enter = w.history.now()
		s.held(ctx, w.history.now)
		s.Token, _ = lock.Token(ctx) // not all locks have one
		w.writeUnder(ctx, &s, false)
		for end := s.Enter + stay; (heedless || ctx.Err() == nil) && w.history.now() < end; {
			_ = pause(context.WithoutCancel(ctx), 2*time.Millisecond)
			s.held(ctx, w.history.now)
		}
		w.writeUnder(ctx, &s, heedless)
		return nil
	})
	return w.end(&s, err)
}

// writeUnder writes to the external store. Only a heedless holder does when ctx has ended.
func (w *worker) writeUnder(ctx context.Context, s *Section, heedless bool) {
	s.held(ctx, w.history.now)
	if heedless || ctx.Err() == nil {
		s.Writes = append(s.Writes, w.external.put(s.Names[0], s.Token))
	}
}
