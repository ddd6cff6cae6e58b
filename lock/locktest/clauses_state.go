package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func (c *check) state(ctx context.Context, want lock.State, when string) {
	for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
		if got := lock.StateOf(ctx); got != want {
			c.Errorf("the state is %v %s, want %v", got, when, want)
		}
	}
}

// becomes waits for a state.
func (c *check) becomes(h *hold, want lock.State, when string) bool {
	for began := time.Now(); time.Since(began) < 2*c.Lease; c.Pass(c.Lease / 200) {
		switch got := lock.StateOf(h.ctx); {
		case got == want:
			return true
		case got == lock.Lost:
			c.Errorf("the lock was lost %s without being %v first", when, want)
			return false
		}
	}
	c.Errorf("the lock is not %v %s", want, when)
	return false
}

func checkJeopardy(c *check) {
	l := c.open()
	h := c.hold(l, c.name(""))
	for range 2 {
		restore := c.Faults.Cut(l)
		c.becomes(h, lock.Jeopardy, "after its process was cut off")
		if h.ctx.Err() != nil {
			c.Errorf("fn's ctx ended in jeopardy: %v", context.Cause(h.ctx))
		}
		c.taken(h.name, "in jeopardy")
		restore()
		c.becomes(h, lock.Safe, "after its process was connected again")
		if h.ctx.Err() != nil {
			c.Errorf("fn's ctx ended although the lock was never lost: %v", context.Cause(h.ctx))
		}
	}
	restore := c.Faults.Cut(l)
	c.becomes(h, lock.Jeopardy, "after its process was cut off")
	c.told(h, "after its process was cut off")
	c.state(h.ctx, lock.Lost, "after fn's ctx ended")
	restore()
	_ = h.release() // ErrLockLost, as "cut-off" checks
}

// events collects the events of one lock.
type events struct {
	c   *check
	mu  sync.Mutex
	got []lock.Event
}

// observed opens a Locker and collects its events about a lock, except those of some kinds
// and of waits.
func (c *check) observed(except ...lock.EventKind) (l lock.Locker, name string, e *events) {
	return c.observedFor(append(except, lock.EventWaiting, lock.EventWaitEnded)...)
}

// observedFor is observed with the events of waits.
func (c *check) observedFor(except ...lock.EventKind) (l lock.Locker, name string, e *events) {
	e, name = &events{c: c}, c.name("")
	return c.Observe(c.tb, func(_ context.Context, event lock.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if event.Lock == name && !slices.Contains(except, event.Kind) {
			e.got = append(e.got, event)
		}
	}), name, e
}

// take returns the next events, which must be of these kinds, and which may come late.
func (e *events) take(kinds ...lock.EventKind) []lock.Event {
	var got []lock.Event
	var are []lock.EventKind
	for began := time.Now(); time.Since(began) < soon && len(got) < len(kinds); e.c.Pass(beat) {
		got, are = got[:0], are[:0]
		e.mu.Lock()
		got = append(got, e.got...)
		e.mu.Unlock()
	}
	for _, event := range got {
		are = append(are, event.Kind)
		if event.Service == "" {
			e.c.Errorf("the event %v names no service", event.Kind)
		}
	}
	if !slices.Equal(are, kinds) {
		e.c.Fatalf("the events of the lock are %v, want %v", are, kinds)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = e.got[len(got):]
	return got
}

// lostFor judges the event of a loss.
func (c *check) lostFor(lost lock.Event, reason lock.Loss) {
	c.is(lost.Err, rmw.ErrLockLost, "the event of a loss")
	if lost.Loss != reason {
		c.Errorf("the event of a loss has the reason %q, want %q: %v", lost.Loss, reason, lost.Err)
	}
}

// takenReason is the reason of a loss by Faults.TakeAway.
func (c *check) takenReason() lock.Loss {
	if c.Session {
		return lock.LossSession
	}
	return lock.LossTaken
}

// none requires that there are no more events.
func (e *events) none() {
	e.c.Pass(e.c.Lease/2 + beat)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.got {
		e.c.Errorf("one more event: %v after %v: %v", event.Kind, event.Took, event.Err)
	}
}

func checkTold(c *check) {
	l, name, told := c.observed(lock.EventWanted)
	for _, m := range bothMethods() {
		err := m.call(l, c.Ctx, name, func(ctx context.Context) error {
			told.take(lock.EventAcquired)
			if c.Reentrant {
				_ = m.call(l, ctx, name, nothing) // has no events of its own
			}
			c.Pass(beat)
			return nil
		})
		if err != nil {
			c.Errorf("%s: %v", m.name, err)
		}
		if took := told.take(lock.EventReleased)[0].Took; took < beat || took > beat+soon {
			c.Errorf("the release tells that the lock was held for %v, and it was for about %v", took, beat)
		}
	}
	h := c.hold(l, name)
	c.takeAway(name)
	c.told(h, "after its lock was taken away")
	_ = h.release() // ErrLockLost, as "taken-away" checks
	c.lostFor(told.take(lock.EventAcquired, lock.EventLost)[1], c.takenReason())
	other := c.hold(c.another(), name)
	ctx, cancel := context.WithTimeout(c.Ctx, hears)
	defer cancel()
	for _, m := range bothMethods() {
		err := m.call(l, ctx, name, c.never("although the lock is taken"))
		refused := told.take(lock.EventRefused)[0]
		c.is(err, rmw.ErrContended, "%s of a lock that is taken", m.name)
		c.is(refused.Err, rmw.ErrContended, "the event of a refused %s", m.name)
		if m.name == "WithLock" && refused.Took < hears/2 {
			c.Errorf("the event of a wait of %v tells that it took %v", hears, refused.Took)
		}
		ctx = c.Ctx
	}
	c.give(other)
	told.none()
}

func checkToldJeopardy(c *check) {
	l, name, told := c.observed(lock.EventWanted)
	h := c.hold(l, name)
	told.take(lock.EventAcquired)
	restore := c.Faults.Cut(l)
	c.becomes(h, lock.Jeopardy, "after its process was cut off")
	if told.take(lock.EventJeopardy)[0].Err == nil {
		c.Errorf("the event of jeopardy does not say why")
	}
	restore()
	c.becomes(h, lock.Safe, "after its process was connected again")
	if took := told.take(lock.EventSafe)[0].Took; took <= 0 || took > c.Lease {
		c.Errorf("the lock was in jeopardy for %v, says its event", took)
	}
	restore = c.Faults.Cut(l)
	c.told(h, fmt.Sprintf("after its process was cut off for %v", c.Lease))
	c.lostFor(told.take(lock.EventJeopardy, lock.EventLost)[1], lock.LossExpired)
	restore()
	_ = h.release() // ErrLockLost, as "cut-off" checks
	told.none()
}

func checkToldSession(c *check) {
	l, name, told := c.observed(lock.EventJeopardy, lock.EventSafe)
	h := c.hold(l, name)
	c.Faults.Expire(l)
	c.told(h, "after its session ended")
	c.lostFor(told.take(lock.EventAcquired, lock.EventLost)[1], lock.LossSession)
	_ = h.release() // ErrLockLost
}

func checkToldMaxHold(c *check) {
	l, name, told := c.observed()
	h := c.hold(l, name)
	c.told(h, "after MaxHold")
	c.lostFor(told.take(lock.EventAcquired, lock.EventLost)[1], lock.LossMaxHold)
	_ = h.release() // ErrLockLost, as "max-hold" checks
}

func checkToldWaiting(c *check) {
	l, name, told := c.observedFor(lock.EventAcquired, lock.EventRefused, lock.EventReleased, lock.EventWanted)
	h := c.hold(c.another(), name)
	waiting := c.Go(func() { c.lock(l, name, nothing) })
	told.take(lock.EventWaiting)
	c.Pass(beat)
	c.give(h)
	<-waiting
	if ended := told.take(lock.EventWaitEnded)[0]; ended.Err != nil || ended.Took < beat {
		c.Errorf("the wait for a lock that was granted after %v ended after %v with %v", beat, ended.Took, ended.Err)
	}
	h = c.hold(c.another(), name)
	ctx, cancel := context.WithTimeout(c.Ctx, hears)
	defer cancel()
	_ = l.WithLock(ctx, name, c.never("although the lock is taken"))
	c.is(told.take(lock.EventWaiting, lock.EventWaitEnded)[1].Err, rmw.ErrContended, "the event of a wait that was given up")
	c.give(h)
	told.none()
}

func checkWanted(c *check) {
	l, name, told := c.observed(lock.EventRefused)
	for range 2 {
		h := c.hold(l, name)
		told.take(lock.EventAcquired)
		told.none()
		if c.inspect(name).Waiters {
			c.Errorf("Inspect shows waiters, and there are none")
		}
		other := c.open()
		waiting := c.Go(func() { c.lock(other, name, nothing) })
		told.take(lock.EventWanted)
		if !c.inspect(name).Waiters {
			c.Errorf("Inspect shows no waiters, and there is one")
		}
		c.give(h)
		told.take(lock.EventReleased)
		<-waiting
		told.none()
	}
}
