package lock

import "context"

// Locker runs functions under named locks. It is safe for concurrent use.
//
// A Locker's own error has one of the reasons of package rmw, for errors.Is. An
// error of fn is returned as it is, never wrapped.
type Locker interface {
	// WithLock waits for the lock name, runs fn on the caller's goroutine, and
	// releases the lock. It releases the lock however fn ends: by a return, a
	// panic or runtime.Goexit. A panic reaches the caller.
	//
	// fn's ctx ends with cause rmw.ErrLockLost when the lock is lost. It ends before
	// another process can get the lock, as far as the holder's clock can tell. The
	// ctx's own Err method reads that clock, so that it is right even after the
	// process was stopped. The Err method of a derived ctx does not read the clock.
	//
	// WithLock returns fn's error, or rmw.ErrLockLost if fn returned nil and the
	// lock was lost meanwhile. With any other error WithLock has not called fn:
	//
	//   - rmw.ErrContended: the wait ended first. The error also has ctx's error if
	//     ctx ended the wait.
	//   - rmw.ErrUnavailable: the lock service did not answer.
	//   - rmw.ErrClosed: the Locker is closed.
	//   - rmw.ErrInvalid: name is empty, or fn is nil.
	//   - ctx's own error: ctx ended before the wait began.
	//
	// A call within fn, with fn's ctx or one derived from it, can ask for the same
	// lock again. A reentrant Locker then runs the inner fn at once, under the lock
	// that is already held, and releases the lock when the last fn has ended. Any
	// other Locker returns rmw.ErrInvalid, because such a wait could never end.
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error

	// TryLock does what WithLock does but never waits. It returns
	// rmw.ErrContended if the lock is held.
	TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error

	// Lock does what WithLock does for a caller that cannot put its work into one
	// function. Work under the lock with the Context of the Hold, and Unlock it.
	Lock(ctx context.Context, name string) (Hold, error)
}

// Hold is a held lock, until Unlock. It is safe for concurrent use.
type Hold interface {
	// Context is fn's ctx of [Locker.WithLock]: that of the call of Lock, until the
	// lock is lost or unlocked.
	Context() context.Context

	// Unlock releases the lock. It returns rmw.ErrLockLost if the lock was lost
	// before. Only the first call counts.
	Unlock() error
}
