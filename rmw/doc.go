// Package rmw is the contract of a read-modify-write: read a key, compute,
// write back, and lose no update while others do the same.
//
//	_, err := store.Update(ctx, rmw.Key{Name: "room:7"},
//		func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
//			return rmw.String(cur.Text() + "x"), nil
//		})
//
// The same call works on every path: package cas (WATCH, MULTI, EXEC), package
// lockupdate (a lock and a guarded commit, for proxies that refuse WATCH) and the
// in-memory Store of package rmwtest. A service that knows only this package
// changes its path in one line.
//
// # The rules every Store keeps
//
// Package rmwtest turns each of them into a test; its clauses are the full
// list.
//
//   - fn sees the present value and its result is stored only if that value is
//     still the present one. Otherwise fn is called again with the newer value:
//     so fn may run several times, and must not have side effects of its own.
//   - fn runs on the goroutine that called Update. Its error is returned as it
//     is, its panic passes through, and neither writes anything.
//   - Returning the value unchanged writes nothing. Returning the zero Value
//     deletes the key.
//   - The key's expiry follows Key.TTL (or [Value.WithTTL]) in the same atomic
//     step as the value. It is never dropped by accident.
//   - A nil error means that the update is stored, exactly once. A non-nil error
//     means that nothing was written. The one exception says so:
//     [ErrOutcomeUnknown].
//   - Every wait ends when ctx does.
//
// A Store that is a [Peeker], as all of these are, shows a value together with the time
// it has left.
//
// # What is not promised
//
// One Update changes one key. [Transact] stores several values together, or none, if the Store is a [Transactor], as
// those of cas, lockupdate and cutover are. The value is compared by its bytes, so a value that changed and changed back (A-B-A) counts as
// unchanged. Nothing here outlives a server that loses acknowledged writes in a
// failover.
package rmw
