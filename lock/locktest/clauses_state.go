package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func stateClauses() []Clause {
	return []Clause{
		{Name: "state", needs: []need{takeAway}, run: checkState,
			Says: "A held lock is safe, and a lock that was lost or released is lost."},
		{Name: "jeopardy", needs: []need{jeopardy, cut, lease}, run: checkJeopardy,
			Says: "A holder that is cut off is told jeopardy before the loss. If the service is back in time, the lock is safe again and was never lost."},
		{Name: "told", needs: []need{observe, takeAway}, run: checkTold,
			Says: "Exactly one event of a loss or a release, with the time of the hold, ends each acquisition; a call without the lock has one as well."},
		{Name: "told-jeopardy", needs: []need{observe, jeopardy, cut, lease}, run: checkToldJeopardy,
			Says: "Jeopardy, its end and the loss are told in this order, once each."},
		{Name: "wanted", needs: []need{wanted, observe, inspects, lease}, run: checkWanted,
			Says: "A holder is told once that others wait, Inspect shows it, and neither happens if none do."},
	}
}

func (c *check) state(ctx context.Context, want lock.State, when string) {
	for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
		if got := lock.StateOf(ctx); got != want {
			c.Errorf("the state is %v %s, want %v", got, when, want)
		}
	}
}

func checkState(c *check) {
	l := c.open()
	h := c.hold(l, c.name("kept"))
	c.state(h.ctx, lock.Safe, "while the lock is held")
	c.give(h)
	c.state(h.ctx, lock.Lost, "after fn returned")
	h = c.hold(l, c.name("lost"))
	c.takeAway(h.name)
	c.told(h, "after its lock was taken away")
	c.state(h.ctx, lock.Lost, "after the lock was taken away")
	_ = h.release() // ErrLockLost, as "taken-away" checks
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
	c    *check
	name string
	mu   sync.Mutex
	got  []lock.Event
}

// observed opens a Locker and collects its events about the lock name, except one kind.
func (c *check) observed(name string, except lock.EventKind) (lock.Locker, *events) {
	e := &events{c: c, name: name}
	return c.Observe(c.tb, func(_ context.Context, event lock.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if event.Lock == name && event.Kind != except {
			e.got = append(e.got, event)
		}
	}), e
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
	name := c.name("")
	l, told := c.observed(name, lock.EventWanted)
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
	if lost := told.take(lock.EventAcquired, lock.EventLost)[1]; !errors.Is(lost.Err, rmw.ErrLockLost) {
		c.Errorf("the event of a loss has the error %v, want ErrLockLost", lost.Err)
	}
	other := c.hold(c.another(), name)
	ctx, cancel := context.WithTimeout(c.Ctx, 2*beat)
	defer cancel()
	for _, m := range bothMethods() {
		err := m.call(l, ctx, name, c.never("although the lock is taken"))
		refused := told.take(lock.EventRefused)[0]
		if !errors.Is(err, rmw.ErrContended) || !errors.Is(refused.Err, rmw.ErrContended) {
			c.Errorf("%s, refused, returned %v, and its event has %v; want ErrContended", m.name, err, refused.Err)
		}
		if m.name == "WithLock" && refused.Took < beat {
			c.Errorf("the event of a wait of %v tells that it took %v", 2*beat, refused.Took)
		}
		ctx = c.Ctx
	}
	c.give(other)
	told.none()
}

func checkToldJeopardy(c *check) {
	name := c.name("")
	l, told := c.observed(name, lock.EventWanted)
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
	told.take(lock.EventJeopardy, lock.EventLost)
	restore()
	_ = h.release() // ErrLockLost, as "cut-off" checks
	told.none()
}

func checkWanted(c *check) {
	name := c.name("")
	l, told := c.observed(name, lock.EventRefused)
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
