package etcdlock

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/rmw"
)

// Token returns the fencing token of the lock that fn's ctx holds, the innermost if there are
// several. It costs nothing: it is the revision of etcd at which the lock was granted, so of two
// holders of one lock the later has the greater one. What a lock guards outside etcd has to remember the
// greatest it has seen, and to refuse smaller ones.
//
// A cluster that was restored from a snapshot counts on from there, and gives out tokens again, unless it
// was restored by etcdutl snapshot restore --bump-revision --mark-compacted.
//
// A ctx without a lock gives an error that is rmw.ErrInvalid, one whose lock is lost rmw.ErrLockLost.
func Token(ctx context.Context) (uint64, error) {
	fail := func(reason, cause error) error {
		return &rmw.Error{Path: "etcdlock", Op: "token", Reason: reason, Cause: cause}
	}
	t, ok := ctx.Value(innermost{}).(*tenure)
	switch {
	case !ok:
		return 0, fail(rmw.ErrInvalid, errors.New("this ctx holds no lock; call Token with the ctx that WithLock gave to your function"))
	case !t.alive():
		return 0, fail(rmw.ErrLockLost, nil)
	}
	return t.token, nil
}
