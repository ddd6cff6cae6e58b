package lockupdate

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Update implements [rmw.Updater]; the package doc tells how. fn runs on the
// caller's goroutine and under the lock of key, so an Update of the same key from
// within fn would wait for itself: with fn's ctx it is refused with
// [rmw.ErrInvalid], with any other it costs the outer one its lock after
// [Config.MaxHold].
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	defer s.gate.Leave()
	lock, err := s.lockOf(ctx, key, fn)
	if err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	u := &update{acquisition: acquisition{Store: s, key: key, lock: lock}, fn: fn}
	return u.run(ctx)
}

// lockOf returns the name of the lock that an update of key needs, or why there
// can be no such update.
func (s *Store) lockOf(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (string, error) {
	lock := s.cfg.LockName(key.Name)
	switch {
	case fn == nil:
		return "", fmt.Errorf("%w: the UpdateFunc is nil", rmw.ErrInvalid)
	case lock == "" || lock == key.Name:
		return "", fmt.Errorf("%w: Config.LockName gives %.128q no lock of its own; use other names for keys than for locks", rmw.ErrInvalid, key.Name)
	case ctx.Value(held{s, lock}) != nil:
		return "", fmt.Errorf("%w: an Update of this key from within its own UpdateFunc would wait for itself; "+
			"compute it all in one UpdateFunc, or update again after the outer call has returned", rmw.ErrInvalid)
	}
	return lock, nil
}

// held marks the ctx of an fn whose lock it is.
type held struct {
	store *Store
	lock  string
}

// update is one call of Update.
type update struct {
	acquisition
	fn       rmw.UpdateFunc
	attempts int
}

func (u *update) run(ctx context.Context) (rmw.Result, error) {
	for {
		if res, again, err := u.round(ctx); !again {
			return res, err
		}
	}
}

// round is one tenure of the lock. again means that the lock was lost and the value
// has changed, so that all begins anew.
func (u *update) round(ctx context.Context) (res rmw.Result, again bool, err error) {
	l, cur, err := u.acquire(ctx)
	if err != nil {
		return u.failed("acquire", redisx.Blame(ctx, err))
	}
	defer l.end() // also if fn panics, or ends its goroutine
	for {
		u.attempts++
		next, err := u.fn(l.ctx, cur)
		if err != nil {
			return u.aborted(ctx, l, err)
		}
		if err := ctx.Err(); err != nil {
			return u.failed("commit", err)
		}
		write, ttl, err := rmw.CheckWrite(u.key, cur, next)
		if err != nil {
			return u.failed("commit", err)
		}
		if !write {
			return u.result(cur, cur, false), false, nil
		}
		stored, now, err := l.commit(ctx, u.key, cur, next, ttl)
		switch {
		case err != nil:
			return u.failed("commit", err)
		case stored:
			return u.result(cur, next.WithTTL(0), true), false, nil
		case u.attempts >= u.cfg.MaxAttempts:
			return u.failed("commit", rmw.ErrContended)
		case l.overdue() != nil:
			return u.failed("commit", l.overdue())
		case !l.ours():
			return rmw.Result{}, true, nil
		}
		cur = now
	}
}

// aborted answers for an fn that returned an error: with that very error, unless
// it only says that its ctx ended because the lock was lost.
func (u *update) aborted(ctx context.Context, l *lease, err error) (rmw.Result, bool, error) {
	cause := context.Cause(l.ctx)
	if ctx.Err() == nil && errors.Is(cause, rmw.ErrLockLost) && errors.Is(err, context.Canceled) {
		return u.failed("update", redisx.Because(cause, notCanceled{err}))
	}
	return rmw.Result{Attempts: u.attempts, Waited: u.waited}, false, err
}

// notCanceled is an error of fn, less the context.Canceled in it: the caller's ctx
// has not ended, and the call may be tried again.
type notCanceled struct{ err error }

func (e notCanceled) Error() string      { return e.err.Error() }
func (e notCanceled) As(target any) bool { return errors.As(e.err, target) }
func (e notCanceled) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}

func (u *update) result(before, after rmw.Value, written bool) rmw.Result {
	return rmw.Result{Before: before, After: after, Written: written, Attempts: u.attempts, Waited: u.waited}
}

func (u *update) failed(op string, err error) (rmw.Result, bool, error) {
	return rmw.Result{Attempts: u.attempts, Waited: u.waited}, false, fail(op, u.key, u.attempts, err)
}
