package etcdlock

import (
	"context"
	"fmt"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

var _ lock.Tokener = (*lockContext)(nil)

// Token implements [lock.Tokener]. It costs nothing: the token is the etcd revision at which the lock was
// granted.
func (c *lockContext) Token(context.Context) (uint64, error) {
	fail := func(reason error) error {
		return &rmw.Error{Path: "etcdlock", Op: "token", Key: c.name, Reason: reason}
	}
	switch {
	case c.returned.Load():
		return 0, fail(fmt.Errorf("%w: this ctx no longer holds the lock; call lock.Token before fn returns", rmw.ErrInvalid))
	case !c.tenure.alive():
		return 0, fail(rmw.ErrLockLost)
	}
	return c.tenure.token, nil
}
