package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

var (
	errWaited = fmt.Errorf("%w: waited as long as Config.MaxWait allows", rmw.ErrContended)
	errLate   = fmt.Errorf("%w: the lock was granted, but its lease had ended when the reply arrived", rmw.ErrUnavailable)
)

func (l *Locker) fail(op, name string, err error) error {
	failed := &rmw.Error{Path: l.name, Op: op, Key: name, Reason: err}
	var inner *rmw.Error
	switch {
	case errors.As(err, &inner):
		failed.Reason, failed.Cause = inner.Reason, inner.Cause
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed.Reason, failed.Cause = nil, err
	case !hasReason(err):
		failed.Reason, failed.Cause = rmw.ErrUnavailable, err
	}
	return failed
}

// endOf returns why a wait has ended.
func endOf(ctx, waiting context.Context, contended bool) error {
	switch err := ended(ctx); {
	case err != nil && contended:
		return &rmw.Error{Reason: rmw.ErrContended, Cause: err}
	case err != nil:
		return err
	}
	return context.Cause(waiting)
}

// ended returns ctx.Err, and the loss of an outer lock if that ended ctx. A request carries
// the deadline, so a lock service may report it before the timer of ctx fires.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if deadline, ok := ctx.Deadline(); err == nil && ok && !time.Now().Before(deadline) {
		err = context.DeadlineExceeded
	}
	if lost := context.Cause(ctx); errors.Is(lost, rmw.ErrLockLost) {
		return fmt.Errorf("%w: %w", err, lost)
	}
	return err
}

// hasReason reports whether err has a reason of package rmw.
func hasReason(err error) bool {
	return slices.ContainsFunc([]error{
		rmw.ErrContended, rmw.ErrLockLost, rmw.ErrOutcomeUnknown, rmw.ErrWrongKind, rmw.ErrUnsupported,
		rmw.ErrUnavailable, rmw.ErrInvalid, rmw.ErrClosed,
	}, func(reason error) bool { return errors.Is(err, reason) })
}

// blame makes an error without a reason that of ctx, if that has ended, or an rmw.ErrUnavailable.
// The end of a ctx of the service's own, which is no end of ctx, stays in its text only.
func blame(ctx context.Context, err error) error {
	switch over := ended(ctx); {
	case hasReason(err):
		return err
	case over != nil:
		return over
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		err = errors.New(err.Error())
	}
	return &rmw.Error{Reason: rmw.ErrUnavailable, Cause: err}
}
