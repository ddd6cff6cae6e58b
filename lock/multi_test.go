package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

// recorder notes the order in which locks are taken and released.
type recorder struct {
	lock.Locker

	log *[]string
}

func (r recorder) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	taken := false
	err := r.Locker.WithLock(ctx, name, func(ctx context.Context) error {
		taken = true
		*r.log = append(*r.log, "take "+name)
		return fn(ctx)
	})
	if taken {
		*r.log = append(*r.log, "release "+name)
	}
	return err
}

func TestMultiOrdersLocksByName(t *testing.T) {
	var log []string
	a, b := recorder{locktest.NewMemory(driver.Config{}), &log}, recorder{locktest.NewMemory(driver.Config{}), &log}
	m := lock.Multi{Locks: []lock.Named{
		{Locker: a, Name: "y"}, {Locker: b, Name: "x"}, {Locker: a, Name: "z"}, {Locker: b, Name: "y", Order: 1}, {Locker: a, Name: "y"},
	}}
	refusal := errors.New("no")
	require.Same(t, refusal, m.WithLock(t.Context(), func(ctx context.Context) error {
		log = append(log, "fn")
		_, err := lock.Token(ctx)
		require.NoError(t, err)
		return refusal
	}))
	assert.Equal(t, []string{
		"take x", "take y", "take y", "take y", "take z", "fn", "release z", "release y", "release y", "release y", "release x",
	}, log)
	assert.Equal(t, "y", m.Locks[0].Name, "the caller's slice is not sorted")
}

// Calls that list the same locks in another order do not wait for each other in a circle, also if the names are equal.
func TestMultiHasNoCircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := locktest.NewMemory(driver.Config{}), locktest.NewMemory(driver.Config{})
		of := func(first, second lock.Locker) []lock.Named {
			return []lock.Named{{Locker: slow{first}, Name: "invoice"}, {Locker: slow{second}, Name: "invoice", Order: 1}}
		}
		a, b := lock.Multi{Locks: of(first, second)}, lock.Multi{Locks: of(first.Peer(), second.Peer())}
		slices.Reverse(b.Locks)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 2)
		for _, m := range []lock.Multi{a, b} {
			go func() { done <- m.WithLock(ctx, func(context.Context) error { return nil }) }()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)

		b.Locks[0].Order = 0 // Without an Order, nothing tells which lock is the first one.
		require.ErrorIs(t, b.WithLock(ctx, func(context.Context) error { return nil }), rmw.ErrInvalid)
	})
}

// slow takes a while after it has taken a lock.
type slow struct{ lock.Locker }

func (s slow) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return s.Locker.WithLock(ctx, name, func(ctx context.Context) error {
		<-time.After(time.Millisecond)
		return fn(ctx)
	})
}

// The state of a Multi is that of its weakest lock.
func TestMultiStateIsTheWeakest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 2 {
			lockers := []*locktest.Memory{locktest.NewMemory(driver.Config{}), locktest.NewMemory(driver.Config{})}
			m := lock.Multi{Locks: []lock.Named{{Locker: lockers[0], Name: "a"}, {Locker: lockers[1], Name: "b"}}}
			err := m.WithLock(t.Context(), func(ctx context.Context) error {
				assert.Equal(t, lock.Safe, lock.StateOf(ctx))
				s, err := lock.SequencerOf(ctx)
				require.NoError(t, err)
				assert.Equal(t, "b", s.Name, "of the lock taken last")
				restore := lockers[i].Cut()
				<-time.After(5 * time.Second)
				assert.Equal(t, lock.Jeopardy, lock.StateOf(ctx))
				restore()
				<-time.After(5 * time.Second)
				assert.Equal(t, lock.Safe, lock.StateOf(context.WithoutCancel(ctx)))
				lockers[i].Stall(10 * time.Second)
				assert.Equal(t, lock.Lost, lock.StateOf(ctx))
				return nil
			})
			require.ErrorIs(t, err, rmw.ErrLockLost)
		}
	})
}

func TestMultiIsInvalidWithoutLocksOrFunction(t *testing.T) {
	locks := []lock.Named{{Locker: locktest.NewMemory(driver.Config{}), Name: "a"}}
	require.ErrorIs(t, lock.Multi{Locks: locks}.WithLock(t.Context(), nil), rmw.ErrInvalid)
	for _, m := range []lock.Multi{
		{}, {Locks: []lock.Named{{Name: "a"}}}, {Locks: []lock.Named{{Locker: locks[0].Locker}}}, {Locks: locks, MaxWait: -1},
	} {
		require.ErrorIs(t, m.WithLock(t.Context(), func(context.Context) error { t.Error("called"); return nil }), rmw.ErrInvalid)
	}
}

// MaxWait bounds the wait for all locks together, and nothing else.
func TestMultiMaxWaitBoundsAllWaits(t *testing.T) {
	const maxWait = 10 * time.Second
	never := func(context.Context) error { t.Error("fn was called"); return nil }
	run := func(name string, test func(t *testing.T, m lock.Multi, locks, other *locktest.Memory)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks := locktest.NewMemory(driver.Config{})
				m := lock.Multi{MaxWait: maxWait, Locks: []lock.Named{{Locker: locks, Name: "a"}, {Locker: locks, Name: "b"}}}
				test(t, m, locks, locks.Peer())
			})
		})
	}
	hold := func(t *testing.T, l lock.Locker, name string, d time.Duration) {
		h, err := l.Lock(t.Context(), name)
		require.NoError(t, err)
		time.AfterFunc(d, func() { assert.NoError(t, h.Unlock()) })
	}
	run("each wait is shorter", func(t *testing.T, m lock.Multi, _, other *locktest.Memory) {
		hold(t, other, "a", 6*time.Second)
		hold(t, other, "b", 12*time.Second)
		began := time.Now()
		err := m.WithLock(t.Context(), never)
		require.ErrorIs(t, err, rmw.ErrContended)
		require.NotErrorIs(t, err, context.Canceled, "the caller's ctx has not ended")
		assert.Equal(t, maxWait, time.Since(began))
		require.NoError(t, other.TryLock(t.Context(), "a", func(context.Context) error { return nil }))
		<-time.After(time.Minute)
	})
	run("all waits fit", func(t *testing.T, m lock.Multi, _, other *locktest.Memory) {
		hold(t, other, "a", 4*time.Second)
		hold(t, other, "b", 8*time.Second)
		require.NoError(t, m.WithLock(t.Context(), func(ctx context.Context) error {
			<-time.After(time.Minute) // MaxWait does not bound fn
			return ctx.Err()
		}))
	})
	run("fn returns ErrContended", func(t *testing.T, m lock.Multi, _, _ *locktest.Memory) {
		refusal := errors.Join(rmw.ErrContended, errors.New("of fn"))
		require.Equal(t, refusal, m.WithLock(t.Context(), func(context.Context) error { return refusal }))
	})
	run("the caller's ctx ends first", func(t *testing.T, m lock.Multi, _, other *locktest.Memory) {
		hold(t, other, "b", time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := m.WithLock(ctx, never)
		require.ErrorIs(t, err, rmw.ErrContended)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-time.After(time.Minute)
	})
	run("a lock service is silent", func(t *testing.T, m lock.Multi, _, _ *locktest.Memory) {
		m.Locks[1].Locker = silent{}
		began := time.Now()
		err := m.WithLock(t.Context(), never)
		require.ErrorIs(t, err, rmw.ErrContended)
		require.NotErrorIs(t, err, context.Canceled, "the caller's ctx has not ended")
		assert.Equal(t, maxWait, time.Since(began))
	})
	run("a lock is granted too late", func(t *testing.T, m lock.Multi, _, _ *locktest.Memory) {
		m.Locks[1].Locker = late{}
		require.ErrorIs(t, m.WithLock(t.Context(), never), rmw.ErrContended)
	})
}

// late is a Locker that does not look at its ctx before it calls fn.
type late struct{ lock.Locker }

func (late) WithLock(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	<-ctx.Done()
	return fn(ctx)
}

// silent is a Locker whose lock service does not answer.
type silent struct{ lock.Locker }

func (silent) WithLock(ctx context.Context, _ string, _ func(ctx context.Context) error) error {
	<-ctx.Done()
	return ctx.Err()
}
