package redisx

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/rmw"
)

// EndOf returns ctx.Err, and the loss of the lock if that ended ctx.
func EndOf(ctx context.Context) error {
	err := ctx.Err()
	if lost := context.Cause(ctx); err != nil && errors.Is(lost, rmw.ErrLockLost) {
		return fmt.Errorf("%w: %w", err, lost)
	}
	return err
}
