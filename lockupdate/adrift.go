package lockupdate

import (
	"errors"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// finishAdrift ends the turn of an update whose tenure ended while its fn ran. The
// lock is no longer ours, but the guard still tells whether fn's value is right.
// Afterwards u has its answer, or, if it returns false, is back in the line.
func (u *update) finishAdrift() bool {
	stored, err := u.commitAdrift()
	res := u.result()
	switch {
	case err != nil:
	case stored:
		res = u.success()
	case u.overdue() != nil:
		err = u.fail("commit", u.overdue())
	case u.attempts >= u.cfg.MaxAttempts:
		err = u.fail("commit", rmw.ErrContended)
	default:
		u.join(u.queue.lock, u)
		return false
	}
	u.res, u.err = res, err // nobody else knows of u any more
	return true
}

// commitAdrift writes what fn returned if the key still holds what fn was given, or,
// if fn wants nothing written, looks whether it does.
func (u *update) commitAdrift() (same bool, err error) {
	switch {
	case u.err != nil && (u.ctx.Err() != nil || errors.Is(u.err, rmw.ErrLockLost)):
		return false, u.err
	case !u.wrote:
		now, err := u.Store.read(u.ctx, u.key)
		switch {
		case u.err != nil && (err != nil || now.Equal(u.given)):
			return false, u.err
		case err != nil:
			return false, u.fail("commit", redisx.Blame(u.ctx, err))
		}
		return now.Equal(u.given), nil
	case u.cfg.Commit == CommitPlain:
		return false, u.fail("commit", rmw.ErrLockLost)
	}
	if !u.write().whole() {
		// What fn was given may never have been stored: it can be what another made of a
		// value, whose commit was refused since. So all of it is compared.
		u.reads = reads{}
	}
	stored, _, err := u.commitNow()
	if err != nil {
		return false, u.fail("commit", redisx.Blame(u.ctx, err))
	}
	return stored, nil
}
