package shadow_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// distant is a correct path over a faulty network: commands and replies are delayed or lost,
// some commands are executed long after the path gave them up, and at times the store is
// out of reach.
type distant struct {
	*rmwtest.Memory
	most time.Duration // the longest usual delay of a way
	lose int           // updates with an unknown outcome, per thousand

	forget int // updates that are acknowledged and lost, per thousand: a fault

	mu     sync.Mutex
	random *rand.Rand
	state  outage
	late   sync.WaitGroup
	calls  atomic.Int64
}

type outage int

const (
	up outage = iota
	refusing
	hanging
)

func newDistant(seed uint64, most time.Duration, lose int) *distant {
	return &distant{Memory: rmwtest.NewMemory(), most: most, lose: lose, random: rand.New(rand.NewPCG(seed, 99))}
}

func (d *distant) become(s outage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
}

func (d *distant) draw(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// pass is the way of a command or a reply; false if ctx ends first.
func (d *distant) pass(ctx context.Context) bool {
	if d.most == 0 || d.draw(4) == 0 {
		return ctx.Err() == nil
	}
	far := time.Duration(d.draw(int(d.most)))
	if d.draw(50) == 0 {
		far *= 20
	}
	wait := time.NewTimer(far)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *distant) fails(ctx context.Context, reason error) error {
	return &rmw.Error{Path: "distant", Op: "test", Reason: reason, Cause: ctx.Err()}
}

// arrive is the way of a command.
func (d *distant) arrive(ctx context.Context) error {
	d.calls.Add(1)
	d.mu.Lock()
	state := d.state
	d.mu.Unlock()
	switch state {
	case refusing:
		return d.fails(ctx, rmw.ErrUnavailable)
	case hanging:
		<-ctx.Done()
	}
	if !d.pass(ctx) {
		return d.fails(ctx, rmw.ErrUnavailable)
	}
	return nil
}

func (d *distant) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	v, _, err := d.Peek(ctx, key)
	return v, err
}

func (d *distant) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	if err := d.arrive(ctx); err != nil {
		return rmw.Value{}, 0, err
	}
	v, left, err := d.Memory.Peek(ctx, key)
	if err == nil && !d.pass(ctx) {
		return rmw.Value{}, 0, d.fails(ctx, rmw.ErrUnavailable)
	}
	return v, left, err
}

var errGivenUp = errors.New("the caller does not wait any longer")

func (d *distant) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := d.arrive(ctx); err != nil {
		return rmw.Result{}, err
	}
	var old, next rmw.Value
	fate := d.draw(1000)
	if d.draw(1000) < d.forget {
		return d.forgets(ctx, key, fn)
	}
	res, err := d.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		v, err := fn(ctx, cur)
		if err != nil {
			return v, err
		}
		old, next = cur, v
		if fate < d.lose/2 {
			return rmw.Value{}, errGivenUp
		}
		if !d.pass(ctx) {
			return rmw.Value{}, d.fails(ctx, rmw.ErrUnavailable)
		}
		return v, nil
	})
	switch {
	case errors.Is(err, errGivenUp):
		d.later(key, old, next)
		return rmw.Result{}, d.fails(ctx, rmw.ErrOutcomeUnknown)
	case err == nil && (fate < d.lose || !d.pass(ctx)):
		return rmw.Result{}, d.fails(ctx, rmw.ErrOutcomeUnknown)
	}
	return res, err
}

// later executes an update that was given up, if the key then holds its input.
func (d *distant) later(key rmw.Key, old, next rmw.Value) {
	if d.draw(2) == 0 {
		return
	}
	after := time.Duration(d.draw(int(5 * time.Second)))
	d.late.Go(func() {
		time.Sleep(after)
		_, _ = d.Memory.Update(context.Background(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if !cur.Equal(old) {
				return cur, nil
			}
			return next, nil
		})
	})
}

// settled waits until no update is in flight.
func (d *distant) settled() {
	d.late.Wait()
	synctest.Wait()
}

// forgets acknowledges an update without storing it.
func (d *distant) forgets(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	cur, err := d.Memory.Read(ctx, key)
	if err != nil {
		return rmw.Result{}, err
	}
	next, err := fn(ctx, cur)
	if err != nil {
		return rmw.Result{Attempts: 1}, err
	}
	return rmw.Result{Before: cur, After: next.WithTTL(0), Written: !next.Equal(cur) || next.TTL() != 0, Attempts: 1}, nil
}
