package cutover

import (
	"cmp"
	"context"

	"github.com/unwatch/unwatch/lock"
)

// Locks is a [lock.Locker] over the locks of two lock services, for critical sections during a
// cut-over. It is safe for concurrent use.
//
// At Follow it takes the old lock, at Complete the new one, otherwise both, the old one first. So two
// processes exclude each other if their stages differ by one step. Before Complete, every process
// must have left Follow for longer than the longest section lasts.
//
// [lock.Token] returns the token of the old lock before Complete, and of the new lock then;
// [lock.SequencerOf] likewise. [lock.StateOf] returns the worse of both. Tokens of
// lockupdate grow with each holder and begin at the holder's clock. So they grow across the change to
// Complete, too, unless one process's clock is behind another's by more than the time between their
// sections.
type Locks struct {
	old, new lock.Locker
	stage    Source
}

var _ lock.Locker = (*Locks)(nil)

// NewLocks returns a Locker over the locks of both sides. The stage must be that of the [Store].
func NewLocks(old, new lock.Locker, stage Source) *Locks { return &Locks{old, new, stage} }

// WithLock implements [lock.Locker].
func (l *Locks) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.with(ctx, name, fn, lock.Locker.WithLock)
}

// TryLock implements [lock.Locker].
func (l *Locks) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.with(ctx, name, fn, lock.Locker.TryLock)
}

// Lock implements [lock.Locker].
func (l *Locks) Lock(ctx context.Context, name string) (lock.Hold, error) {
	first, second, err := l.lockers(ctx)
	if err != nil {
		return nil, err
	}
	outer, err := first.Lock(ctx, name)
	if err != nil || second == nil {
		return outer, err
	}
	inner, err := second.Lock(outer.Context(), name)
	if err != nil {
		_ = outer.Unlock() // the section has not begun
		return nil, err
	}
	return &hold{outer: outer, inner: inner}, nil
}

// hold is both locks.
type hold struct{ outer, inner lock.Hold }

// Context implements [lock.Hold].
func (h *hold) Context() context.Context { return both{h.inner.Context(), h.outer.Context()} }

// Unlock implements [lock.Hold].
func (h *hold) Unlock() error { return cmp.Or(h.inner.Unlock(), h.outer.Unlock()) }

// lockers returns the locks to take. The second may be nil.
func (l *Locks) lockers(ctx context.Context) (first, second lock.Locker, err error) {
	stage, err := l.stage.Stage(ctx)
	if err == nil {
		err = stage.Validate()
	}
	switch {
	case err != nil:
		return nil, nil, err
	case stage.Phase == Follow:
		return l.old, nil, nil
	case stage.Phase == Complete:
		return l.new, nil, nil
	}
	return l.old, l.new, nil
}

// take is a method of lock.Locker.
type take func(l lock.Locker, ctx context.Context, name string, fn func(ctx context.Context) error) error

func (l *Locks) with(ctx context.Context, name string, fn func(ctx context.Context) error, take take) error {
	first, second, err := l.lockers(ctx)
	switch {
	case err != nil:
		return err
	case second == nil || fn == nil:
		return take(first, ctx, name, fn)
	}
	return take(first, ctx, name, func(outer context.Context) error {
		return take(second, outer, name, func(inner context.Context) error { return fn(both{inner, outer}) })
	})
}

// both ends with either lock. Err asks both locks, which read the clock.
type both struct {
	context.Context
	outer context.Context
}

func (b both) Err() error {
	if err := b.outer.Err(); err != nil {
		return err
	}
	return b.Context.Err()
}

func (b both) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return b
	}
	return b.Context.Value(key)
}

// Token implements [lock.Held]. It asks both locks, since either may be lost.
func (b both) Token(ctx context.Context) (uint64, error) { return ofOuter(ctx, b, lock.Token) }

// Sequencer implements [lock.Held]. It asks both locks, as Token does.
func (b both) Sequencer(ctx context.Context) (lock.Sequencer, error) {
	return ofOuter(ctx, b, lock.SequencerOf)
}

// State implements [lock.Held].
func (b both) State() lock.State { return max(lock.StateOf(b.Context), lock.StateOf(b.outer)) }

// ofOuter asks both locks, and returns the answer of the outer one.
func ofOuter[T any](ctx context.Context, b both, ask func(context.Context) (T, error)) (answer T, err error) {
	for _, held := range []context.Context{b.Context, b.outer} {
		if answer, err = ask(bounded{ctx, held}); err != nil {
			return *new(T), err
		}
	}
	return answer, nil
}

// bounded is a ctx with the lock of another one.
type bounded struct {
	context.Context
	held context.Context
}

func (b bounded) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return b.held.Value(key)
	}
	return b.Context.Value(key)
}
