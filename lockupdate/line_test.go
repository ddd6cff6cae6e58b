package lockupdate_test

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// fate is what becomes of a call on a goroutine of its own.
type fate struct {
	done     chan struct{}
	res      rmw.Result
	err      error
	returned bool // and did not panic, nor end its goroutine
	panicked any
	at       time.Time
}

// over reports whether the call has ended.
func (f *fate) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// start calls Update on a goroutine of its own, and returns when that waits.
func start(ctx context.Context, s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) *fate {
	f := &fate{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer func() { f.panicked, f.at = recover(), time.Now() }()
		f.res, f.err = s.Update(ctx, key, fn)
		f.returned = true
	}()
	synctest.Wait()
	return f
}

// until runs fn when gate is closed, the first time.
func until(gate <-chan struct{}, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		<-gate
		return fn(ctx, cur)
	}
}

// line has the fns wait, in their order, behind one that writes nothing; go on lets
// that end, and all of them be one group.
func (f *fixture) line(key rmw.Key, fns ...rmw.UpdateFunc) (goOn func(), fates []*fate) {
	gate := make(chan struct{})
	first := start(f.t.Context(), f.store, key, until(gate, keep))
	for _, fn := range fns {
		fates = append(fates, start(f.t.Context(), f.store, key, fn))
	}
	return func() { close(gate); <-first.done }, fates
}

// together runs the fns as one group.
func (f *fixture) together(key rmw.Key, fns ...rmw.UpdateFunc) []*fate {
	goOn, fates := f.line(key, fns...)
	goOn()
	for _, fate := range fates {
		<-fate.done
	}
	return fates
}

// sent returns how often each script has arrived.
func (f *fixture) sent() map[string]int {
	n := map[string]int{}
	for _, name := range f.calls() {
		n[name]++
	}
	return n
}

// total returns how many scripts have arrived.
func (f *fixture) total() (n int) {
	for name, times := range f.sent() {
		if _, ok := lockupdate.Scripts()[name]; ok {
			n += times
		}
	}
	return n
}
