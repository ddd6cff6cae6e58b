package lock

import (
	"context"
	"fmt"

	"github.com/unwatch/unwatch/rmw"
)

// Token returns the fencing token of the innermost lock that ctx holds. ctx is the
// ctx that a [Locker] gave to fn, or one derived from it. The Context of a
// [Hold] and the ctx of an Update of a lockupdate.Store hold a lock, too.
//
// A token is a number above 0. It stays the same while the lock is held, and a
// process that gets the lock later gets a greater one. So a store that remembers the
// greatest token it has seen, and refuses smaller ones, is safe from a holder that
// stalled past its lease. In SQL:
//
//	UPDATE rooms SET state = $1, token = $2 WHERE id = $3 AND token <= $2
//
// A write that depends on a row needs the read of that row to raise the token.
// Otherwise a late write can come between the read and the write of another holder:
//
//	UPDATE rooms SET token = $1 WHERE id = $2 AND token <= $1 RETURNING state
//
// Two functions that one Locker runs one after the other, without another process
// between them, may have the same token.
//
// The error is an [rmw.Error]. Its reason is
//
//   - rmw.ErrInvalid if ctx holds no lock, or no longer holds one;
//   - rmw.ErrLockLost if the lock was lost;
//   - rmw.ErrUnsupported if the lock has no tokens. Call Token before taking that
//     lock, with the ctx of a lock that has them, or use another Locker;
//   - any other reason if the lock service had to be asked and that failed.
func Token(ctx context.Context) (uint64, error) {
	held, ok := ctx.Value(ContextKey{}).(Held)
	if !ok {
		return 0, noLock("token")
	}
	return held.Token(ctx)
}

func noLock(op string) error {
	return &rmw.Error{Path: "lock", Op: op, Reason: fmt.Errorf(
		"%w: this ctx holds no lock; pass the ctx that WithLock or Update gave to fn", rmw.ErrInvalid)}
}

// ContextKey is for authors of a [Locker]. The Value of fn's ctx under
// ContextKey{} is the lock that fn runs under, as a [Held]. A Locker that has no
// tokens sets it as well, or Token would return the token of an outer lock.
type ContextKey struct{}

// Held is a held lock, as [Token], [SequencerOf] and [StateOf] find it under
// [ContextKey].
type Held interface {
	// Token returns the token; see the function [Token]. ctx bounds the call. A lock
	// that has no tokens returns rmw.ErrUnsupported, and says what to use instead.
	Token(ctx context.Context) (uint64, error)

	// Sequencer returns the Sequencer; see the function [SequencerOf].
	Sequencer(ctx context.Context) (Sequencer, error)

	// State returns the state; see [StateOf].
	State() State
}
