package lockupdate

import (
	"context"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/holder"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// Token returns the fencing token of the lock that ctx holds: within the function of
// an Update or WithLock, or with a [Lock.Context]. Whoever gets the lock later gets a
// greater token, so that a store that remembers the greatest token it has seen, and
// refuses smaller ones, is safe from a holder that stalled past its lease: for
// instance a SQL table with
//
//	UPDATE rooms SET state = $1, token = $2 WHERE id = $3 AND token <= $2
//
// What was computed from a row that was read under the lock needs the read to raise
// the token as well, or a late write could come between another's read and write:
//
//	UPDATE rooms SET token = $1 WHERE id = $2 AND token <= $1 RETURNING state
//
// Updates and sections of one Store that follow each other without giving the lock
// back have the same token; they are in order anyway. What Update itself writes is
// guarded and needs none.
//
// The first call under a lock costs one round trip and one command on a key of its
// own, "/fence" before the lock's name; who never asks pays nothing. The key goes
// when no token was drawn for a week. After that, and after a failover that forgot it,
// tokens go on from the clock in microseconds; they would fall back only if at the
// same time the clock of the next holder was behind the last token.
//
// The error is rmw.ErrInvalid if ctx holds no lock, rmw.ErrLockLost if the lock could
// have ended before the token was drawn, or that of a command that failed.
func Token(ctx context.Context) (uint64, error) {
	key, token, err := lease.Token(ctx)
	if err != nil {
		return 0, holder.Fail("token", rmw.Key{Name: key}, 0, redisx.Blame(ctx, err))
	}
	return token, nil
}
