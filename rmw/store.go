package rmw

import (
	"context"
	"time"
)

// UpdateFunc computes the next value of a key from the present one.
//
// It returns cur itself (or an equal Value) to write nothing, the zero Value to
// delete the key, or what shall be stored. An error aborts: nothing is written
// and Update returns that very error.
//
// It may be called several times in one Update, each time with a newer value,
// so it must compute only: no messages sent, no counters raised, no other
// Update of the same key. ctx ends when the caller's does, or, with cause
// [ErrLockLost], when the path can no longer hold others off; a slow fn should
// watch it.
type UpdateFunc func(ctx context.Context, cur Value) (next Value, err error)

// Reader reads keys. It is safe for concurrent use.
type Reader interface {
	// Read returns the present value, the zero Value if there is none. It sees
	// every update acknowledged before the call. A value of another kind than
	// key.Kind is an [ErrWrongKind].
	Read(ctx context.Context, key Key) (Value, error)
}

// Updater updates keys. It is safe for concurrent use.
type Updater interface {
	// Update calls fn with the present value and stores the value that fn returns,
	// provided the value has not changed meanwhile; else it tries again. Of a hash,
	// a path may compare only the fields that fn has read; other fields keep
	// concurrent changes.
	//
	// A nil error: stored, exactly once. Any other error: nothing was written,
	// unless it is an [ErrOutcomeUnknown]. It is fn's own error, or an [*Error]
	// whose Reason is (errors.Is) one of this package's Err variables, or nil when
	// only ctx ended. On error, Result has Attempts and Waited only.
	Update(ctx context.Context, key Key, fn UpdateFunc) (Result, error)
}

// Store reads and updates.
type Store interface {
	Reader
	Updater
}

// Peeker is a Store that can tell how long a key will live, too. Not every Store can;
// ask with [As], which sees through middleware. Middleware does not see a Peek.
//
//	if p, ok := rmw.As[rmw.Peeker](store); ok {
//		v, left, err := p.Peek(ctx, key)
//	}
type Peeker interface {
	// Peek returns the present value, and how long it has left: [NoTTL] if it has no
	// expiry, 0 if there is no value. A value about to expire has a millisecond left,
	// also in the last second of a store that counts in seconds.
	//
	// Value and time are of one moment, and all else is as with Read: it sees every
	// update acknowledged before the call, changes nothing, and fails for the same
	// reasons. A path that has to look more than once for that may fail with
	// [ErrContended] as well, if others keep changing the value meanwhile.
	Peek(ctx context.Context, key Key) (v Value, left time.Duration, err error)
}

// Result describes an Update.
type Result struct {
	// Before is the value that the last call of fn was given. Fields of a hash that
	// fn did not read may be newer.
	Before Value

	After    Value         // the stored value, as far as this Update knows
	Written  bool          // false if fn returned its value unchanged
	Attempts int           // how often fn was called
	Waited   time.Duration // how long the call waited for other writers
	Token    uint64        // fencing token for other systems; 0: this path gives none
}
