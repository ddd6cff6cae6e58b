package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// errSilent is the error of a node that has not answered. No ctx has
// ended.
var errSilent = errors.New("no answer within Config.NodeTimeout")

// fail dresses an error for the caller. err is, or wraps with more text, a reason
// of package rmw, or is an *rmw.Error that has one, or is ctx's.
func fail(op, name string, err error) error {
	e := &rmw.Error{Path: "redlock", Op: op, Key: name, Reason: err}
	var own *rmw.Error
	switch {
	case errors.As(err, &own):
		e.Reason, e.Cause = own.Reason, own.Cause
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Reason, e.Cause = nil, err
	}
	return e
}

// endOf is the error of a call after the end of ctx. It has the cause of the end,
// as of fn's ctx under another lock.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// unreached is the error of a round that no majority of the nodes has answered.
// spare is how many may be missing.
func unreached(failures []error, spare int) error {
	var causes []error
	unsupported := 0
	for i, err := range failures {
		if err == nil {
			continue
		}
		// As text: a timeout of the client must not pass for the end of ctx.
		causes = append(causes, fmt.Errorf("node %d: %s", i, err.Error()))
		if errors.Is(redisx.Reason(err), rmw.ErrUnsupported) {
			unsupported++
		}
	}
	reason := rmw.ErrUnavailable
	if unsupported > spare {
		reason = rmw.ErrUnsupported
	}
	return redisx.Because(reason, fmt.Errorf("a majority of %d nodes is out of reach: %w", len(failures), errors.Join(causes...)))
}

// tooLate is the error of a majority that came when little of the lease was left.
func tooLate(elapsed, lease time.Duration) error {
	return redisx.Because(rmw.ErrUnavailable,
		fmt.Errorf("the majority took %v, too much of the lease of %v; is the machine overloaded, or Config.Lease too short?", elapsed, lease))
}
