package redisx

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/rmw"
)

// Fail dresses an error of a path's own for its caller, as an *rmw.Error. An err
// that does not name a reason itself is judged as of a command that did not run,
// or only read.
func Fail(path, op string, key rmw.Key, attempts int, err error) error {
	e := &rmw.Error{Path: path, Op: op, Key: key.Name, Attempts: attempts}
	var own *rmw.Error
	switch {
	case errors.As(err, &own):
		e.Reason, e.Cause = own.Reason, own.Cause
	case errors.Is(err, rmw.ErrInvalid), errors.Is(err, rmw.ErrWrongKind),
		errors.Is(err, rmw.ErrClosed), errors.Is(err, rmw.ErrContended):
		e.Reason = err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = err
	default:
		e.Reason, e.Cause = Reason(err), err
	}
	return e
}

// Because gives err a reason, for Fail.
func Because(reason, err error) error { return &rmw.Error{Reason: reason, Cause: err} }
