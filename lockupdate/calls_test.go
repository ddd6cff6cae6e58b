package lockupdate_test

import (
	"context"
	"testing/synctest"
	"time"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// pendingCall is a call on its own goroutine, with its result.
type pendingCall struct {
	done     chan struct{}
	res      rmw.Result
	err      error
	returned bool // without a panic or runtime.Goexit
	panicked any
	at       time.Time
}

func (c *pendingCall) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// start calls Update on its own goroutine, and returns when that blocks.
func start(ctx context.Context, s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) *pendingCall {
	c := &pendingCall{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer func() { c.panicked, c.at = recover(), time.Now() }()
		c.res, c.err = s.Update(ctx, key, fn)
		c.returned = true
	}()
	synctest.Wait()
	return c
}

// until returns an fn that waits for gate before it calls fn.
func until(gate <-chan struct{}, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		<-gate
		return fn(ctx, cur)
	}
}

// enqueue queues the fns behind a call that writes nothing. proceed ends that call, and the fns run
// as one batch.
func (f *fixture) enqueue(key rmw.Key, fns ...rmw.UpdateFunc) (proceed func(), calls []*pendingCall) {
	gate := make(chan struct{})
	first := start(f.t.Context(), f.store, key, until(gate, keep))
	for _, fn := range fns {
		calls = append(calls, start(f.t.Context(), f.store, key, fn))
	}
	return func() { close(gate); <-first.done }, calls
}

// runBatch runs the fns as one batch.
func (f *fixture) runBatch(key rmw.Key, fns ...rmw.UpdateFunc) []*pendingCall {
	proceed, calls := f.enqueue(key, fns...)
	proceed()
	for _, call := range calls {
		<-call.done
	}
	return calls
}

// sent counts the received commands by name.
func (f *fixture) sent() map[string]int {
	n := map[string]int{}
	for _, name := range f.calls() {
		n[name]++
	}
	return n
}

// total counts the received scripts.
func (f *fixture) total() (n int) {
	for name, times := range f.sent() {
		if _, ok := lockupdate.Scripts()[name]; ok {
			n += times
		}
	}
	return n
}

// operations are calls of a Store for the key or lock s.
var operations = map[string]func(ctx context.Context, s *lockupdate.Store) error{
	"update": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Update(ctx, rmw.Key{Name: "s"}, appendText("x"))
		return err
	},
	"read": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Read(ctx, rmw.Key{Name: "s"})
		return err
	},
	"peek": func(ctx context.Context, s *lockupdate.Store) error {
		_, _, err := s.Peek(ctx, rmw.Key{Name: "s"})
		return err
	},
	"inspect": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Inspect(ctx, "s")
		return err
	},
	"token": func(ctx context.Context, s *lockupdate.Store) error {
		return s.WithLock(ctx, "s", func(ctx context.Context) error {
			_, err := locking.Token(ctx)
			return err
		})
	},
}
