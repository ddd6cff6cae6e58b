package lockupdate

import (
	"context"
	"slices"
	"sync"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// Lock is a held lock, until Unlock. It is safe for concurrent use.
type Lock struct {
	store *Store
	ctx   context.Context
	held  *lease.Context
	once  sync.Once
	err   error
}

// Lock takes the lock that updates of the key name take, and waits for it as they
// do. The caller must use [Lock.Context] for the work under it, and Unlock it;
// [Store.WithLock] does both. Close waits for locks to be unlocked.
//
// A lock is no licence to write: a holder can stall past its lease, and find out
// only afterwards. A write by Update under the lock is guarded; other writes
// are not.
//
// If ctx holds this lock already, it is the same lock once more: it costs no round
// trip and is given back when the last one is unlocked. The error is an *rmw.Error
// of Op "lock".
func (s *Store) Lock(ctx context.Context, name string) (*Lock, error) {
	return s.lock(ctx, name, false)
}

// Context is that of the call that took the lock. It ends, with cause
// rmw.ErrLockLost, before the lock can end without us, as far as our clock can tell,
// and when the lock is given back. Its Done is closed by a timer, which is late on a
// machine that is busy or stood still; its own Err looks at the clock when it is asked, so
// that nil means that the lock was ours then. A ctx derived from it does not look.
func (l *Lock) Context() context.Context { return l.ctx }

// Unlock gives the lock back, and does not wait for the reply. It returns rmw.ErrLockLost
// if the lock was lost before. Only the first call counts.
func (l *Lock) Unlock() error {
	l.once.Do(func() {
		last, lost := l.held.Leave()
		if lost != nil {
			l.err = driver.Fail("unlock", rmw.Key{Name: l.held.Key()}, 0, lost)
		}
		if last {
			l.store.gate.Leave()
		}
	})
	return l.err
}

// WithLock runs fn on the caller's goroutine under the lock that updates of the key
// name take; see [Store.Lock]. It gives the lock back however fn ends. fn's ctx is
// [Lock.Context]; with it, or one derived from it, WithLock and Update of the same
// name nest.
//
// It returns fn's error as it is; an rmw.ErrLockLost if fn returned nil although the
// lock was lost meanwhile; or, without having called fn, why the lock could not be
// taken.
func (s *Store) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return s.withLock(ctx, name, fn, false)
}

// TryLock is WithLock that does not wait: rmw.ErrContended if the lock is taken.
func (s *Store) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return s.withLock(ctx, name, fn, true)
}

// WithLocks is WithLock for several names: fn runs when all locks are held. They are
// taken one by one in a fixed order, so that calls for some of the same names cannot
// wait for each other in a circle, unless they hold other locks meanwhile. If one
// cannot be taken, those before it are given back and fn is not called. Their leases
// are renewed together.
func (s *Store) WithLocks(ctx context.Context, names []string, fn func(ctx context.Context) error) error {
	if fn == nil {
		return driver.Fail("lock", rmw.Key{}, 0, errNoFn)
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range slices.Backward(names) {
		inner := fn
		fn = func(ctx context.Context) error { return s.WithLock(ctx, name, inner) }
	}
	return fn(ctx)
}

func (s *Store) withLock(ctx context.Context, name string, fn func(ctx context.Context) error, try bool) error {
	if fn == nil {
		return driver.Fail("lock", rmw.Key{Name: name}, 0, errNoFn)
	}
	l, err := s.lock(ctx, name, try)
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }() // also if fn panics, or ends its goroutine
	if err := fn(l.ctx); err != nil {
		return err
	}
	return l.Unlock()
}

func (s *Store) lock(ctx context.Context, name string, try bool) (*Lock, error) {
	key := rmw.Key{Name: name}
	if err := s.begin(ctx, key); err != nil {
		return nil, driver.Fail("lock", key, 0, err)
	}
	lock, err := s.lockName(name)
	if err != nil {
		s.gate.Leave()
		return nil, driver.Fail("lock", key, 0, err)
	}
	if outer := s.keeper.Held(ctx, lock); outer != nil {
		if _, err := outer.TakeLock(ctx); err != nil {
			s.gate.Leave()
			return nil, driver.Fail("lock", key, 0, err)
		}
		if outer.Again() {
			s.gate.Leave() // the outer one keeps it open
			return &Lock{store: s, ctx: ctx, held: outer}, nil
		}
	}
	held, err := s.queues.Lock(ctx, name, lock, try)
	if err != nil {
		s.gate.Leave()
		return nil, err
	}
	return &Lock{store: s, ctx: held, held: held}, nil
}
