package lockupdate

import (
	"context"
	"slices"
	"sync"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// hold is a [lock.Hold].
type hold struct {
	store *Store
	ctx   context.Context
	held  *lease.Context
	once  sync.Once
	err   error
}

// Lock implements [lock.Locker]. It takes the lock that updates of the key name take, and
// waits for it as they do. The caller must use the Context of the Hold for the work under
// it, and Unlock it; [Store.WithLock] does both. Close waits for locks to be unlocked.
//
// A lock is no licence to write: a holder can stall past its lease, and find out
// only afterwards. A write by Update under the lock is guarded; other writes
// are not.
//
// If ctx holds this lock already, it is the same lock once more: it costs no round
// trip, its Context is ctx itself, and the lock is given back when the last one is
// unlocked. The error is an *rmw.Error of Op "lock".
func (s *Store) Lock(ctx context.Context, name string) (lock.Hold, error) {
	l, err := s.lock(ctx, name, false)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Context implements [lock.Hold]. Its Done is closed by a timer, which is late on a
// machine that is busy or was stopped. Its own Err reads the clock; that of a ctx derived
// from it does not.
func (l *hold) Context() context.Context { return l.ctx }

// Unlock implements [lock.Hold]. It does not wait for the reply to the release.
func (l *hold) Unlock() error {
	l.once.Do(func() {
		defer l.store.gate.EndFn()
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
// the Context of a [lock.Hold]; with it, or one derived from it, WithLock and Update of the same
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
// are renewed together. For locks of several Lockers there is [lock.Multi].
//
// WithLocks is no transaction. A process that dies between two updates of fn leaves the first one. A Read without the
// locks sees the one without the other, and WATCH writers do not know the locks. To store several values together, or
// none, use [rmw.Transact], which needs no lock.
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

func (s *Store) lock(ctx context.Context, name string, try bool) (*hold, error) {
	key := rmw.Key{Name: name}
	if err := s.begin(ctx, key); err != nil {
		return nil, driver.Fail("lock", key, 0, err)
	}
	lockName, err := s.lockName(name)
	if err != nil {
		s.gate.Leave()
		return nil, driver.Fail("lock", key, 0, err)
	}
	if outer := s.keeper.Held(ctx, lockName); outer != nil {
		if err := outer.RequireLock(); err != nil {
			s.gate.Leave()
			return nil, driver.Fail("lock", key, 0, err)
		}
		if outer.Again() {
			s.gate.Leave() // the outer one keeps it open
			s.gate.BeginFn()
			return &hold{store: s, ctx: ctx, held: outer}, nil
		}
	}
	held, err := s.queues.Lock(ctx, name, lockName, try)
	if err != nil {
		s.gate.Leave()
		return nil, err
	}
	s.gate.BeginFn()
	return &hold{store: s, ctx: held, held: held}, nil
}
