package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Named is a lock of a Locker.
type Named struct {
	Locker Locker
	Name   string
}

// Multi is several locks that are held together, of one lock service or of several. With
// several services, the section stays exclusive as long as one of them keeps its promise.
type Multi struct {
	// Locks are taken one after the other in the order of their names, and in this order
	// if names are equal. So calls for some of the same locks cannot wait for each other
	// in a circle, unless they hold other locks meanwhile.
	Locks []Named

	// MaxWait bounds the wait for all locks together. Then WithLock returns
	// rmw.ErrContended. Default 0: only ctx bounds it.
	MaxWait time.Duration
}

// WithLock runs fn while all locks are held, and releases them in reverse order. If one
// cannot be taken, those before it are released and fn is not called. fn's ctx ends when
// the first of them is lost. Its Token is that of the lock taken last. The errors are
// those of [Locker.WithLock].
func (m Multi) WithLock(ctx context.Context, fn func(ctx context.Context) error) error {
	unset := func(l Named) bool { return l.Locker == nil || l.Name == "" }
	if fn == nil || len(m.Locks) == 0 || slices.ContainsFunc(m.Locks, unset) || m.MaxWait < 0 {
		return multiError(fmt.Errorf("%w: pass a function, at least one lock with a Locker and a name, and no MaxWait below 0", rmw.ErrInvalid))
	}
	locks := slices.Clone(m.Locks)
	slices.SortStableFunc(locks, func(a, b Named) int { return cmp.Compare(a.Name, b.Name) })
	limited, waiting, called := ctx, func() bool { return true }, false
	if m.MaxWait > 0 {
		var cancel context.CancelCauseFunc
		limited, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		waiting = time.AfterFunc(m.MaxWait, func() { cancel(errWaited) }).Stop
	}
	next := func(ctx context.Context) error {
		if !waiting() {
			return multiError(errWaited)
		}
		called = true
		return fn(ctx)
	}
	for _, l := range slices.Backward(locks) {
		inner := next
		next = func(ctx context.Context) error { return l.Locker.WithLock(ctx, l.Name, inner) }
	}
	err := next(limited)
	if !called && ctx.Err() == nil && errors.Is(context.Cause(limited), errWaited) && errors.Is(err, context.Canceled) {
		return multiError(errWaited) // and not the end of a ctx that the caller does not know
	}
	return err
}

var errWaited = fmt.Errorf("%w: waited as long as Multi.MaxWait allows", rmw.ErrContended)

func multiError(reason error) error { return &rmw.Error{Path: "lock", Op: "multi", Reason: reason} }
