package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Named is a lock of a Locker.
type Named struct {
	Locker Locker
	Name   string

	// Order is the place among locks of equal names of several Lockers, which all need one. It
	// must be the same in all processes: 0 for Redis and 1 for etcd, for example.
	Order int
}

// Multi is several locks that are held together, of one lock service or of several. With
// several services, the section stays exclusive as long as one of them keeps its promise.
type Multi struct {
	// Locks are taken one after the other by their names, and by Named.Order if names are
	// equal. So calls for some of the same locks cannot wait for each other in a circle,
	// unless they hold other locks meanwhile. WithLock returns rmw.ErrInvalid if two Lockers have
	// locks of equal names and of equal Order.
	Locks []Named

	// MaxWait bounds the wait for all locks together. Then WithLock returns
	// rmw.ErrContended. Default 0: only ctx bounds it.
	MaxWait time.Duration
}

// WithLock runs fn while all locks are held, and releases them in reverse order. If one
// cannot be taken, those before it are released and fn is not called. fn's ctx ends when
// the first of them is lost. Its Token and Sequencer are those of the lock taken last, and its
// State is that of the weakest one. The errors are those of [Locker.WithLock].
func (m Multi) WithLock(ctx context.Context, fn func(ctx context.Context) error) error {
	unset := func(l Named) bool { return l.Locker == nil || l.Name == "" }
	if fn == nil || len(m.Locks) == 0 || slices.ContainsFunc(m.Locks, unset) || m.MaxWait < 0 {
		return multiError(fmt.Errorf("%w: pass a function, at least one lock with a Locker and a name, and no MaxWait below 0", rmw.ErrInvalid))
	}
	locks := slices.Clone(m.Locks)
	slices.SortStableFunc(locks, Named.compare)
	for i, l := range locks[1:] {
		if before := locks[i]; before.compare(l) == 0 && !same(before.Locker, l.Locker) {
			return multiError(fmt.Errorf("%w: two Lockers have a lock %.80q; set Named.Order, so that all processes take them in one order",
				rmw.ErrInvalid, l.Name))
		}
	}
	limited, waiting, called := ctx, func() bool { return true }, false
	if m.MaxWait > 0 {
		var cancel context.CancelCauseFunc
		limited, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		waiting = time.AfterFunc(m.MaxWait, func() { cancel(errWaited) }).Stop
	}
	var held multiHeld
	next := func(ctx context.Context) error {
		if !waiting() {
			return multiError(errWaited)
		}
		called = true
		if held.Held == nil {
			return fn(ctx)
		}
		return fn(multiContext{ctx, held})
	}
	for _, l := range slices.Backward(locks) {
		inner := next
		next = func(ctx context.Context) error {
			return l.Locker.WithLock(ctx, l.Name, func(ctx context.Context) error {
				held.add(ctx)
				return inner(ctx)
			})
		}
	}
	err := next(limited)
	if !called && ctx.Err() == nil && errors.Is(context.Cause(limited), errWaited) && errors.Is(err, context.Canceled) {
		return multiError(errWaited) // and not the end of a ctx that the caller does not know
	}
	return err
}

func (l Named) compare(other Named) int {
	return cmp.Or(cmp.Compare(l.Name, other.Name), cmp.Compare(l.Order, other.Order))
}

// same reports whether two Lockers are one. It does not panic if their type is not comparable.
func same(a, b Locker) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// multiHeld is the lock of a [Multi] that was taken last, with all states.
type multiHeld struct {
	Held

	all []Held
}

func (h *multiHeld) add(ctx context.Context) {
	if held, ok := ctx.Value(ContextKey{}).(Held); ok {
		h.Held, h.all = held, append(h.all, held)
	}
}

// State implements [Held].
func (h multiHeld) State() (weakest State) {
	for _, held := range h.all {
		weakest = max(weakest, held.State())
	}
	return weakest
}

// multiContext is the ctx of fn. Its Err is that of the ctx of the lock taken last.
type multiContext struct {
	context.Context

	held multiHeld
}

// Value implements [context.Context].
func (c multiContext) Value(key any) any {
	if key == (ContextKey{}) {
		return c.held
	}
	return c.Context.Value(key)
}

var errWaited = fmt.Errorf("%w: waited as long as Multi.MaxWait allows", rmw.ErrContended)

func multiError(reason error) error { return &rmw.Error{Path: "lock", Op: "multi", Reason: reason} }
