package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

type traceKey struct{}

var (
	errTestLoss   = errors.New("the lock is lost")
	errTestParent = errors.New("the caller gave up")
)

// lockOf is a Holder that does nothing.
type lockOf string

func (l lockOf) LockName() string   { return string(l) }
func (lockOf) Owner() string        { return "o" }
func (lockOf) Began() time.Duration { return 0 }
func (lockOf) LeaseLost()           {}
func (lockOf) LeaveSection()        {}

// unkept returns a Context of the lock "l", with a lease that no keeper looks after.
func unkept(parent context.Context) *Context {
	k := NewKeeper(nil, nil, nil, nil, Options{Lease: time.Hour, MaxHold: time.Hour})
	l := &Lease{Value: grant{under: lockOf("l")}}
	k.wheel.Schedule(l.timer(), time.Hour)
	return &Context{parent: parent, keeper: k, lock: lockOf("l"), lease: l, depth: 1}
}

// subject is a Context or a standard ctx with the same history.
type subject struct {
	keeper *Keeper // of the Context; part of the keys of both
	ctx    context.Context
	end    func(cause error)
	parent context.CancelCauseFunc
	child  context.Context // made by "asked"
	called bool            // by context.AfterFunc
}

func newSubject(ours bool) *subject {
	parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), traceKey{}, "span"))
	parent, stop := context.WithTimeout(parent, time.Minute)
	c := unkept(parent)
	s := &subject{parent: func(err error) { cancel(err); stop() }, keeper: c.keeper}
	if ours {
		s.ctx, s.end = c, c.End
	} else {
		s.ctx, s.end = context.WithCancelCause(context.WithValue(parent, s.key("l"), "held"))
	}
	return s
}

func (s *subject) key(lock string) ctxKey { return ctxKey{s.keeper, lock} }

func (s *subject) do(event string) {
	switch event {
	case "asked":
		child, cancel := context.WithCancel(s.ctx)
		s.child = child
		context.AfterFunc(child, cancel)
		context.AfterFunc(s.ctx, func() { s.called = true })
		<-time.After(time.Second)
	case "lost":
		s.end(errTestLoss)
	case "ended":
		s.end(nil)
	case "left":
		s.parent(errTestParent)
	case "late":
		time.Sleep(2 * time.Minute) // past the deadline
	}
	synctest.Wait()
}

// observe returns all visible properties of a ctx.
func (s *subject) observe() []any {
	deadline, limited := s.ctx.Deadline()
	all := []any{
		s.ctx.Err(), context.Cause(s.ctx), deadline, limited, isDone(s.ctx), s.called,
		s.ctx.Value(traceKey{}), s.ctx.Value(s.key("l")) != nil, s.ctx.Value(s.key("m")) != nil, s.ctx.Value("no such"),
		context.WithoutCancel(s.ctx).Err(), context.WithoutCancel(s.ctx).Value(traceKey{}),
	}
	late, cancel := context.WithTimeout(context.WithValue(s.ctx, traceKey{}, "inner"), time.Hour)
	defer cancel()
	all = append(all, late.Err(), context.Cause(late), isDone(late), late.Value(traceKey{}))
	if s.child != nil {
		all = append(all, s.child.Err(), context.Cause(s.child), isDone(s.child))
	}
	return all
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// orders returns every sequence of some of the events.
func orders(events []string) [][]string {
	all := [][]string{nil}
	for i, e := range events {
		rest := append(append([]string{}, events[:i]...), events[i+1:]...)
		for _, tail := range orders(rest) {
			all = append(all, append([]string{e}, tail...))
		}
	}
	return all
}

// A Context behaves like a standard ctx, in any order of uses, loss of the lock, end, and end of
// the parent.
func TestContextIsAContext(t *testing.T) {
	for _, events := range orders([]string{"asked", "lost", "ended", "left", "late"}) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := newSubject(true), newSubject(false)
			for _, s := range []*subject{ours, theirs} {
				defer s.parent(nil)
				defer s.end(nil)
			}
			for _, e := range events {
				for _, s := range []*subject{ours, theirs} {
					if e == "late" && s == theirs {
						continue // time passes for both
					}
					s.do(e)
				}
			}
			assert.Equal(t, theirs.observe(), ours.observe(), strings.Join(events, ", "))
		})
	}
}

// Without Done, a Context creates no cancellable context.
func TestContextCostsNoAllocation(t *testing.T) {
	c := unkept(context.WithValue(t.Context(), traceKey{}, "span"))
	allocs := testing.AllocsPerRun(100, func() {
		_ = c.Err()
		_, _ = c.Deadline()
		_ = c.Value(traceKey{})
	})
	assert.Zero(t, allocs)
	c.End(nil)
	assert.Nil(t, c.rare, "no cancellable context was made")
	assert.ErrorIs(t, c.Err(), context.Canceled)
}

// Lost returns the cause of a loss before the end of the ctx, even if Err was never called.
func TestContextReportsItsLoss(t *testing.T) {
	c := &Context{parent: t.Context(), depth: 1}
	assert.NoError(t, c.Lost())
	c.End(errTestLoss)
	c.End(nil)
	assert.Equal(t, errTestLoss, c.Lost())
	c = &Context{parent: t.Context(), depth: 1}
	c.End(nil)
	c.End(errTestLoss)
	assert.NoError(t, c.Lost())
}

// newKeeper returns a Keeper within a call of its Store. It cannot send renewals.
func newKeeper(t *testing.T, lease time.Duration) *Keeper {
	gate := redisx.NewGate()
	require.NoError(t, gate.Enter())
	k := NewKeeper(nil, nil, gate, func(event.Event) {}, Options{Lease: lease, MaxHold: time.Hour})
	t.Cleanup(func() {
		assert.Zero(t, k.Len())
		gate.Leave()
		gate.Close()
	})
	return k
}

// Err reports the end of the lease even if the keeper's loop has not run, as after a pause of the
// process.
func TestErrChecksTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, time.Second)
		lease := k.Keep(lockOf("l"), time.Now())
		ctx := k.Enter(event.Call{Ctx: t.Context(), Name: "s"}, lease, true, time.Now())
		synctest.Wait() // the loop sleeps now, and does not see the stall
		k.Stall(890 * time.Millisecond)
		require.NoError(t, ctx.Err())
		require.Same(t, ctx, k.Held(ctx, "l"))
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		k.Stall(10 * time.Millisecond)
		require.NoError(t, derived.Err(), "Err of the parent was not called")
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
		<-ctx.Done()
		synctest.Wait()
		require.ErrorIs(t, derived.Err(), context.Canceled)
		require.Nil(t, k.Held(ctx, "l"))
		last, lost := ctx.Leave()
		assert.True(t, last)
		assert.ErrorIs(t, lost, rmw.ErrLockLost)
		k.End(lease)
	})
}

// A renewal does not bring back a lease that has ended by the clock of this process.
func TestRenewedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, time.Second)
		lease := k.Keep(lockOf("l"), time.Now())
		ctx := k.Enter(event.Call{Ctx: t.Context(), Name: "s"}, lease, true, time.Now())
		synctest.Wait()
		k.Stall(890 * time.Millisecond)
		assert.NoError(t, k.Renewed(lease, k.Now(), true, nil))
		k.Stall(900 * time.Millisecond)
		assert.ErrorIs(t, k.Renewed(lease, k.Now(), true, nil), rmw.ErrLockLost)
		_, lost := ctx.Leave()
		assert.ErrorIs(t, lost, rmw.ErrLockLost)
		k.End(lease)
	})
}

// A renewal loses an inner lock while the outer one is held. The keeper ends the inner ctx with its
// mutex locked, without a deadlock.
func TestLosingALockWithinAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, time.Second)
		outerLease, innerLease := k.Keep(lockOf("outer"), time.Now()), k.Keep(lockOf("inner"), time.Now())
		outer := k.Enter(event.Call{Ctx: t.Context(), Name: "outer"}, outerLease, true, time.Now())
		inner := k.Enter(event.Call{Ctx: outer, Name: "inner"}, innerLease, true, time.Now())
		assert.ErrorIs(t, k.Renewed(innerLease, k.Now(), false, nil), rmw.ErrLockLost)
		require.ErrorIs(t, context.Cause(inner), rmw.ErrLockLost)
		require.NoError(t, outer.Err())
		last, lost := inner.Leave()
		assert.True(t, last)
		assert.ErrorIs(t, lost, rmw.ErrLockLost)
		last, lost = outer.Leave()
		assert.True(t, last)
		assert.NoError(t, lost)
		k.End(innerLease)
		k.End(outerLease)
	})
}

// The Err of the ctx of an inner lock reads the clock for the outer one, too.
func TestErrChecksTheClockOfTheOuterLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, time.Second)
		began := time.Now()
		outerLease := k.Keep(lockOf("outer"), began)
		time.Sleep(100 * time.Millisecond)
		innerLease := k.Keep(lockOf("inner"), time.Now())
		outer := k.Enter(event.Call{Ctx: t.Context(), Name: "outer"}, outerLease, true, time.Now())
		inner := k.Enter(event.Call{Ctx: outer, Name: "inner"}, innerLease, true, time.Now())
		done := inner.Done()
		synctest.Wait()
		k.Stall(800 * time.Millisecond) // the outer lease has ended, the inner one has not
		require.ErrorIs(t, inner.Err(), context.Canceled)
		<-done
		require.ErrorIs(t, context.Cause(inner), rmw.ErrLockLost)
		_, lost := inner.Leave()
		require.NoError(t, lost, "the inner lock was not lost")
		_, lost = outer.Leave()
		require.ErrorIs(t, lost, rmw.ErrLockLost)
		k.End(innerLease)
		k.End(outerLease)
	})
}

// Keeping and dropping a lease allocates nothing, for any number of leases.
func TestKeepingAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, time.Hour)
		const n = 10_000
		h, now := lockOf("l"), time.Now()
		leases := make([]*Lease, n)
		for i := range leases {
			leases[i] = k.Keep(h, now)
		}
		synctest.Wait()
		assert.Equal(t, n, k.Len())
		holder := Holder(h)
		assert.Equal(t, 1.0, testing.AllocsPerRun(100, func() { k.End(k.Keep(holder, now)) }), "the Lease")
		for _, l := range leases {
			k.End(l)
		}
	})
}

// A process may hold 100,000 leases, each under a Context.
func TestSizes(t *testing.T) {
	assert.EqualValues(t, 48, unsafe.Sizeof(Lease{}))
	assert.EqualValues(t, 96, unsafe.Sizeof(Context{}))
}
