package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Ending records the close of all stores at once, with calls in flight.
type Ending struct {
	Calls  int64 // in flight when Close was called
	Inside int64 // of these with a running function

	Took      time.Duration // of the slowest Close
	Errors    []string      // of Close
	Unended   int64         // calls without a result after all Close had returned
	Abandoned int64         // calls that were refused after their function was called
	Admitted  int           // stores that accepted a new call afterwards

	Locks           []string // left on the servers
	ConnectionsLeft int
	Goroutines      int // after all was closed
}

// awaitInside slows the workers' functions, until most calls are inside one.
func (p *play) awaitInside(ctx context.Context) error {
	p.part.Store(int32(ending))
	ctx, cancel := context.WithTimeoutCause(ctx, 10*endingWork, errors.New("the workers do not come to call their functions"))
	defer cancel()
	for p.inside.Load() < int64(p.Goroutines/2) {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// settled is the time for the effects of Close to show: callers must wake up to be counted out.
const settled = 5 * time.Second

// end closes the stores while their callers' contexts are active.
func (p *play) end() Ending {
	e := Ending{Calls: p.calls.Load(), Inside: p.inside.Load()}
	began := time.Now()
	var closing sync.WaitGroup
	errs := make([]error, len(p.members))
	for i, m := range p.members {
		closing.Go(func() { errs[i] = m.Close() })
	}
	closing.Wait()
	e.Took = time.Since(began)
	for _, err := range errs {
		if err != nil {
			e.Errors = append(e.Errors, err.Error())
		}
	}
	soon, cancel := context.WithTimeout(context.Background(), settled)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.all.Wait()
	}()
	select {
	case <-ended:
	case <-soon.Done():
		e.Unended = p.calls.Load()
	}
	same := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
	for _, m := range p.members {
		_, err := m.Update(context.Background(), rmw.Key{Name: keyPrefix + "late"}, same)
		if !errors.Is(err, rmw.ErrClosed) {
			e.Admitted++
		}
	}
	e.Abandoned = p.abandoned.Load()
	return e
}

// after counts the resources that are left once the stores are closed, then closes their clients and counts
// again.
func (p *play) after(ctx context.Context, m *Measured) error {
	if err := p.sweeper.verify(ctx, m); err != nil {
		return fmt.Errorf("verify the cut-over: %w", err)
	}
	values, locks, err := p.env.stored(ctx, p.keys)
	if err != nil {
		return fmt.Errorf("read the final state: %w", err)
	}
	m.Tally = p.expected.tally(values)
	m.Ending.Locks = locks
	for _, one := range p.members {
		if err := one.leave(); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	for {
		atServer, err := p.env.connections(soon)
		if err != nil && soon.Err() == nil {
			return err
		}
		ours, _ := p.dials.counts()
		m.Ending.ConnectionsLeft, m.Ending.Goroutines = max(ours, atServer), runtime.NumGoroutine()
		if m.Ending.ConnectionsLeft == 0 && m.Ending.Goroutines <= m.GoroutinesBefore || pause(soon, 10*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
}
