package driver

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// Service is a lock service. Its methods are called from several goroutines, and each
// must return soon after its ctx has ended.
//
// Errors should have one of the reasons of package rmw. An error with none of them counts
// as rmw.ErrUnavailable.
type Service interface {
	// Acquire grants a lock that is free, or that r.Owner holds already, for
	// Config.Expiry. Otherwise it returns rmw.ErrContended: at once, or, if r.Wait and
	// the service can tell when the lock becomes free, after ctx has ended. If r.Wait and
	// it returns ErrContended before that, it is called again after a pause.
	//
	// After any other error the Locker calls Release.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew prolongs the leases of the holds by Config.Expiry from now, or from the time
	// that it passes to [Hold.Since]. A nil error means that it has, except for holds for
	// which it called [Hold.Lose] or [Hold.Fail]. With an error the leases may or may not have been
	// prolonged, and Renew is called again soon. It must never take a lock again that the
	// owner no longer holds.
	//
	// The holds include requests that wait in Acquire, so that a session can be kept
	// for them; see [Hold.Waiting].
	Renew(ctx context.Context, holds []*Hold) error

	// Release frees the lock if owner holds it, and withdraws a waiting request of the
	// owner. It returns nil if owner does not hold the lock afterwards.
	Release(ctx context.Context, name, owner string) error

	// Inspect shows the lock; see [lock.Inspector].
	Inspect(ctx context.Context, name string) (lock.Info, error)
}

// Checker is a [Service] with a request of its own for [lock.Checker]. Without it, the Locker compares
// with Inspect.
type Checker interface {
	// Check reports whether the holder of s holds the lock.
	Check(ctx context.Context, s lock.Sequencer) (held bool, err error)
}

// Request asks for a lock.
type Request struct {
	Name  string
	Owner string // at most 64 characters: letters, digits, '-' and ':'
	Data  []byte // see lock.WithData; at most maxData bytes
	Wait  bool
	Tries int // of earlier calls of Acquire for this owner
}

// Grant is a lock that was granted.
type Grant struct {
	// Token is the fencing token, 0 if the service has none. Each grant to another owner
	// has a greater one.
	Token uint64
	// Since is when the request was sent that began the lease, by Config.Now. The zero
	// Since is the time before Acquire was called.
	Since time.Time
}
