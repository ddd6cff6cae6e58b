package lockupdate

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// path is the name of this package in errors.
const path = "lockupdate"

var (
	errNoClient   = fmt.Errorf("%w: lockupdate.New needs a client, not nil", rmw.ErrInvalid)
	errFullDuplex = fmt.Errorf("%w: lockupdate.New cannot use an AutoPipeliner with FullDuplex, whose commands no hook can refuse; "+
		"use the client itself, or AutoPipelineOptions without FullDuplex", rmw.ErrInvalid)
)

// endOf is ctx.Err, and names the loss of the lock that ended ctx, if ctx is that of a
// function which ran under one.
func endOf(ctx context.Context) error {
	err := ctx.Err()
	if lost := context.Cause(ctx); err != nil && errors.Is(lost, rmw.ErrLockLost) {
		return fmt.Errorf("%w: %w", err, lost)
	}
	return err
}

// fail also keeps an odd reply from passing for an outage, and being tried again for ever.
func fail(op string, key rmw.Key, attempts int, err error) error {
	var own *rmw.Error
	var odd *oddReply
	if errors.As(err, &odd) && !errors.As(err, &own) {
		err = redisx.Because(rmw.ErrUnsupported, err)
	}
	return redisx.Fail(path, op, key, attempts, err)
}
