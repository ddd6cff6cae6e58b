package rmw

import (
	"context"
	"fmt"
	"time"
)

// The bounds of a Transact, beyond which it fails with [ErrInvalid]: the keys that it reads or writes, and the
// bytes of the values that it writes, all together.
const (
	MaxTxKeys  = 64
	MaxTxBytes = 16 << 20
)

// TxFunc computes the next values of several keys from the present ones. It reads them with [Tx.Get] and
// hands over new ones with [Tx.Put].
//
// As an [UpdateFunc] it may be called several times, each time with newer values and a new Tx, so it must compute
// only. One call may see values of two moments; nothing of such a call is stored, and neither its error nor its
// panic reaches the caller. An error aborts: nothing is written and Transact returns that very error.
type TxFunc func(ctx context.Context, tx *Tx) error

// Transactor is a Store that can update several keys together. Not every Store can; [Transact] sees through
// middleware, and says so if none of the chain can. [Observe], [Log], metrics, spans and the shadow are Transactors, and see each
// Transact. Middleware of your own needs this method for that: without it, a Transact passes unseen to the Store below.
type Transactor interface {
	// Transact calls fn with the present values of keys, which fn may [Tx.Get] along with others, and stores
	// all values that fn has put, or none of them. Updates of one key, of several keys, and reads by
	// Stores over the same storage are strictly serializable: the values that are stored were computed from values that
	// were all present at one moment.
	//
	// A nil error: all is stored, exactly once. Any other error: nothing is, unless it is an
	// [ErrOutcomeUnknown], which means that the storage could not be asked again before ctx ended. The rules for
	// errors, unchanged values, deletion and expiry are those of [Updater], for each key by itself.
	Transact(ctx context.Context, keys []Key, fn TxFunc) (TxResult, error)
}

// TxResult describes a Transact. After an error it has Attempts and Waited only.
type TxResult struct {
	Changes  []Change      // of all keys that were named or mentioned, in the order of their first mention
	Attempts int           // how often fn was called
	Waited   time.Duration // how long the call waited for other writers
}

// Written reports whether a value was written.
func (r TxResult) Written() bool {
	for _, c := range r.Changes {
		if c.Written {
			return true
		}
	}
	return false
}

// Change is the part of a Transact that concerns one key.
type Change struct {
	Key     Key
	Before  Value // as fn got it
	After   Value // as it is stored
	Written bool  // false if fn put nothing, or the value that was there
}

// Transact updates several keys together: all values that fn puts are stored, or none.
//
//	_, err := rmw.Transact(ctx, store, func(ctx context.Context, tx *rmw.Tx) error {
//		a, b := tx.Get(from), tx.Get(to)
//		...
//		tx.Put(from, less)
//		tx.Put(to, more)
//		return nil
//	}, from, to)
//
// The keys named in the call, at least one, are read in one flush before fn is called. fn may get others, at a round
// trip each: a queue's head names the job, for example. Name the keys that are known.
//
// The error is [ErrUnsupported] if no Store of the chain is a [Transactor], and [ErrInvalid] for a Transact
// within the fn of another one of the same Store. All else is as [Transactor] says.
func Transact(ctx context.Context, store Store, fn TxFunc, keys ...Key) (TxResult, error) {
	t, ok := As[Transactor](store)
	if !ok {
		return TxResult{}, noTransactor(store, keys)
	}
	return t.Transact(ctx, keys, fn)
}

func noTransactor(store Store, keys []Key) error {
	e := &Error{Path: "rmw", Op: "transact", Reason: ErrUnsupported}
	if len(keys) > 0 {
		e.Key = keys[0].Name
	}
	e.Cause = fmt.Errorf("%T cannot update several keys together: use cas, lockupdate or rmwtest.Memory", store)
	return e
}

// TransactFor is [Transact] with a result of fn, which is that of its last call.
func TransactFor[T any](
	ctx context.Context, store Store, fn func(ctx context.Context, tx *Tx) (T, error), keys ...Key,
) (T, error) {
	var result, none T
	_, err := Transact(ctx, store, func(ctx context.Context, tx *Tx) (err error) {
		result, err = fn(ctx, tx)
		return err
	}, keys...)
	if err != nil {
		return none, err
	}
	return result, nil
}

// ReadAll returns the values of several keys as they were at one moment.
func ReadAll(ctx context.Context, store Store, keys ...Key) ([]Value, error) {
	return TransactFor(ctx, store, func(_ context.Context, tx *Tx) ([]Value, error) {
		values := make([]Value, len(keys))
		for i, key := range keys {
			values[i] = tx.Get(key)
		}
		return values, nil
	}, keys...)
}
