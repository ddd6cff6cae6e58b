package lockupdate

import (
	"context"
	"sync"
	"time"
)

// held marks the ctx of an fn whose lock it is.
type held struct {
	store *Store
	lock  string
}

// anyHeld finds the turn of a ctx, whatever its Store and lock.
type anyHeld struct{}

// turnContext is the ctx of an fn: its caller's, until the turn is over or, with cause
// rmw.ErrLockLost, until the lock is lost. Most never ask it anything, so that it
// costs a cancellable context only when they do.
type turnContext struct {
	parent context.Context
	name   string // of the key
	lease  *lease

	mu      sync.Mutex
	depth   int   // how many hold it
	cause   error // context.Canceled if nil
	inner   context.Context
	cancel  context.CancelCauseFunc
	section bool // and not an update
	ended   bool
	first   bool // it ended before parent did
}

func (c *turnContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.cause, c.first = true, cause, true
	select { // not Err: the watchdog is here with its lock, for which the Err of a lock outside would wait
	case <-c.parent.Done():
		c.first = false
	default:
	}
	if c.inner != nil {
		c.cancel(cause)
	}
}

// again takes a lock that is held once more. It returns false if that is over.
func (c *turnContext) again() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.depth++
	return true
}

// leave gives one of those locks back. It returns whether this was the last, with
// which the turn is over, and why the lock was lost, if it was.
func (c *turnContext) leave() (last bool, lost error) {
	c.mu.Lock()
	c.depth--
	last, lost = c.depth == 0, c.cause
	c.mu.Unlock()
	if last {
		c.end(nil)
	}
	return last, lost
}

// unlock ends a section.
func (c *turnContext) unlock() {
	t := c.lease.tenure
	t.leaveSection()
	t.gate.Leave()
}

// lost returns why the lock was lost during the turn, if it was.
func (c *turnContext) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

func (c *turnContext) get() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		parent := c.parent
		if c.first { // and whatever has become of it since does not matter
			parent = context.WithoutCancel(parent)
		}
		c.inner, c.cancel = context.WithCancelCause(parent)
		if c.ended {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

// Deadline implements context.Context.
func (c *turnContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *turnContext) Done() <-chan struct{} { return c.get().Done() }

// Err implements context.Context. It looks at the clock itself: the watchdog may have stood still
// for as long as its caller, and be later to find out.
func (c *turnContext) Err() error {
	if err := c.known(); err != nil {
		return err
	}
	if why := c.lease.expired(); why != nil {
		c.end(why)
	}
	return c.known()
}

// known is Err without a look at the clock.
func (c *turnContext) known() error {
	c.mu.Lock()
	ended := c.ended || c.inner != nil
	c.mu.Unlock()
	if ended {
		return c.get().Err()
	}
	return c.parent.Err()
}

// Value implements context.Context. Package context finds the one to cancel, and its
// cause, under a key that is a pointer to an int.
func (c *turnContext) Value(key any) any {
	switch key := key.(type) {
	case held:
		if t := c.lease.tenure; key == (held{t.Store, t.lock}) {
			return c
		}
	case anyHeld:
		return c
	case *int:
		return c.get().Value(key)
	}
	return c.parent.Value(key)
}

// over reports whether the turn has ended, in whatever way.
func (c *turnContext) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// holding returns the turn in which ctx has the lock, or nil.
func (s *Store) holding(ctx context.Context, lock string) *turnContext {
	c, _ := ctx.Value(held{s, lock}).(*turnContext)
	if c == nil || c.over() {
		return nil
	}
	return c
}
