package locktest

import "context"

// Locker runs functions under named locks. It is safe for concurrent use.
//
// Its own errors have (errors.Is) one of the reasons of package rmw. An error of
// fn is returned as it is, never wrapped. A lock is no licence: whoever stalls
// past its end is not alone any more, and only the store that it writes to can
// refuse it.
type Locker interface {
	// WithLock waits for the lock name, runs fn under it on the caller's
	// goroutine, and gives the lock back when fn ends in whatever way: by
	// returning, by a panic, which passes through, or by runtime.Goexit. fn's ctx
	// ends, with cause rmw.ErrLockLost, before the lock can end without its
	// holder, as far as the holder's clock can tell. Its own Err looks at that
	// clock, so that it tells the truth also after the process has stopped.
	//
	// It returns fn's own error; rmw.ErrLockLost if fn returned nil although the
	// lock was lost meanwhile; or, without having called fn: rmw.ErrContended if
	// the wait was given up, along with ctx's error if that is why;
	// rmw.ErrUnavailable, rmw.ErrClosed; rmw.ErrInvalid for an empty name or a
	// nil fn.
	//
	// With fn's ctx, or one derived from it, the same lock may be asked for
	// again: a reentrant Locker then runs the inner fn at once, under the lock
	// that is held anyway, until the last of them ends. Any other returns
	// rmw.ErrInvalid, as waiting could not end.
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error

	// TryLock is WithLock that does not wait: rmw.ErrContended if the lock is
	// taken.
	TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error
}
