package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// Context is the ctx of a function under a lock: its caller's, until the function has
// ended or, with cause rmw.ErrLockLost, until the lock is lost. Most functions never ask
// it anything, so that it makes a cancellable context only when it is asked.
type Context struct {
	parent  context.Context
	keeper  *Keeper
	key     string        // whose lock it is
	lock    string        // its name
	section bool          // a critical section, not an UpdateFunc
	until   time.Duration // MaxHold, by the keeper's clock
	take    TakeFunc      // of an UpdateFunc that runs without the lock

	mu          sync.Mutex
	lease       *Lease      // nil while the lock is not held
	limit       *time.Timer // ends an unlocked ctx at until
	depth       int         // how many hold the lock with it
	cause       error       // context.Canceled if nil
	inner       context.Context
	cancel      context.CancelCauseFunc
	ended       bool
	beforeOuter bool // it ended before parent did
}

// Enter returns the ctx of a function that now runs under the lock of key.
func (l *Lease) Enter(parent context.Context, key string, section bool) *Context {
	k := l.keeper
	c := &Context{parent: parent, keeper: k, key: key, lock: l.holder.LockName(), section: section, lease: l, depth: 1}
	c.until = k.holdLimit(k.Now())
	l.enter(c)
	return c
}

func (l *Lease) enter(c *Context) {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.lost != nil {
		c.End(l.lost)
	} else {
		// The wheel looks at the lease at the previous until, and then finds this one.
		l.ctx, l.until = c, c.until
	}
}

// TakeFunc takes the lock for an UpdateFunc that runs without it.
type TakeFunc func(ctx context.Context) (*Lease, error)

// EnterUnlocked returns the ctx of an UpdateFunc that runs without the lock. A call of
// Token takes the lock first.
func (k *Keeper) EnterUnlocked(parent context.Context, key, lock string, take TakeFunc) *Context {
	return &Context{parent: parent, keeper: k, key: key, lock: lock, until: k.holdLimit(k.Now()), take: take, depth: 1}
}

// TakeLock takes the lock if the UpdateFunc runs without it, and returns the lease.
func (c *Context) TakeLock(ctx context.Context) (*Lease, error) {
	if l := c.Lease(); l != nil {
		return l, nil
	}
	return c.take(ctx)
}

// Attach has the ctx end with a lease that was taken meanwhile.
func (c *Context) Attach(l *Lease) {
	c.mu.Lock()
	c.lease = l
	c.mu.Unlock()
	l.enter(c)
}

// Nested returns the ctx of an UpdateFunc that runs within the critical section c.
func (c *Context) Nested(parent context.Context) *Context {
	return &Context{parent: parent, keeper: c.keeper, key: c.key, lock: c.lock, lease: c.Lease(), until: c.until, depth: 1}
}

// ctxKey finds the Context of a lock.
type ctxKey struct {
	keeper *Keeper
	lock   string
}

// Held returns the Context in which ctx holds the lock, or nil.
func (k *Keeper) Held(ctx context.Context, lock string) *Context {
	c, _ := ctx.Value(ctxKey{k, lock}).(*Context)
	if c == nil || c.over() {
		return nil
	}
	return c
}

// Key returns the key whose lock it is.
func (c *Context) Key() string { return c.key }

// Lease returns the lease of the lock, or nil if the lock was not taken.
func (c *Context) Lease() *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}

// Section reports whether this is a critical section, and not an UpdateFunc.
func (c *Context) Section() bool { return c.section }

// Overdue returns an error once the function has held its lock for MaxHold.
func (c *Context) Overdue() error {
	if k := c.keeper; k.Now() >= c.until-k.tick {
		return k.HeldTooLong()
	}
	return nil
}

// End ends the ctx.
func (c *Context) End(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.cause, c.beforeOuter = true, cause, true
	select { // not parent.Err: the keeper holds its mutex here, for which the Err of an outer lock waits
	case <-c.parent.Done():
		c.beforeOuter = false
	default:
	}
	if c.inner != nil {
		c.cancel(cause)
	}
	if c.limit != nil {
		c.limit.Stop()
	}
}

// Again takes a held lock once more. It returns false if the section has ended.
func (c *Context) Again() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.depth++
	return true
}

// Leave undoes Enter or one Again. last means that the section has ended, lost says why the
// lock was lost before, if it was.
func (c *Context) Leave() (last bool, lost error) {
	stalled := c.Lease().Err() // the keeper's loop may have slept, too
	c.mu.Lock()
	c.depth--
	last, lost = c.depth == 0, c.cause
	c.mu.Unlock()
	if last {
		c.End(nil)
	}
	if lost == nil && stalled != nil {
		lost = redisx.Because(rmw.ErrLockLost, stalled)
	}
	return last, lost
}

// Lost returns why the lock was lost before the ctx ended, or nil.
func (c *Context) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

func (c *Context) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// get returns the cancellable context.
func (c *Context) get() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		parent := c.parent
		if c.beforeOuter { // what happened to parent since does not matter
			parent = context.WithoutCancel(parent)
		}
		c.inner, c.cancel = context.WithCancelCause(parent)
		if c.lease == nil && !c.ended { // the keeper's loop does not watch MaxHold
			c.limit = time.AfterFunc(c.until-c.keeper.Now(), func() { c.End(c.keeper.HeldTooLong()) })
		}
		if c.ended {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

// current is the cancellable context if it is needed to answer, and else parent: nothing
// has happened that parent does not know.
func (c *Context) current() context.Context {
	c.mu.Lock()
	needed := c.ended || c.inner != nil
	c.mu.Unlock()
	if needed {
		return c.get()
	}
	return c.parent
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.get().Done() }

// Err implements context.Context. It looks at the clock itself: after a stall of the
// process, the keeper's loop may notice later than the caller.
func (c *Context) Err() error {
	if err := c.current().Err(); err != nil {
		return err
	}
	if why := c.undetected(); why != nil {
		c.End(why)
	}
	return c.current().Err()
}

// undetected returns why the lock is lost if no loop has noticed yet.
func (c *Context) undetected() error {
	if l := c.Lease(); l != nil {
		return l.undetected()
	}
	return c.Overdue()
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	switch key := key.(type) {
	case ctxKey:
		if key == (ctxKey{c.keeper, c.lock}) {
			return c
		}
	case lock.ContextKey:
		return c
	}
	return c.current().Value(key)
}

const (
	// FencePrefix precedes the name of a lock in that of its fencing counter.
	FencePrefix = "/fence"
	fenceTTL    = 7 * 24 * time.Hour
)

// Token implements lock.Tokener; see package lockupdate.
func (c *Context) Token(ctx context.Context) (uint64, error) {
	key := rmw.Key{Name: c.key}
	if c.over() && c.Lost() == nil {
		return 0, driver.Fail("token", key, 0, fmt.Errorf("%w: this ctx no longer holds the lock; call lock.Token before fn returns, or before Unlock", rmw.ErrInvalid))
	}
	var token uint64
	l, err := c.TakeLock(ctx)
	if err == nil {
		token, err = l.drawToken(ctx)
	}
	if err != nil {
		if lost := c.Lost(); lost != nil && errors.Is(err, context.Canceled) { // ctx may be c itself
			err = redisx.Because(rmw.ErrLockLost, lost)
		}
		return 0, driver.Fail("token", key, 0, redisx.Blame(ctx, err))
	}
	return token, nil
}

// drawToken draws the token of the lease once. Concurrent calls may skip a number.
func (l *Lease) drawToken(ctx context.Context) (uint64, error) {
	for try := 1; ; try++ {
		if err := l.Err(); err != nil {
			return 0, redisx.Because(rmw.ErrLockLost, err)
		}
		if token := l.token.Load(); token != 0 {
			return token, nil
		}
		t := l.keeper.transport
		token, err := t.Token(ctx, FencePrefix+l.holder.LockName(), time.Now().UnixMicro(), fenceTTL)
		switch {
		case err == nil:
			// The lock may have been lost before the token was drawn, which is then too
			// great: check the lease again before the token is returned.
			if l.Err() == nil {
				l.token.CompareAndSwap(0, token)
			}
		case redisx.OutcomeOf(err) != redisx.Unknown || try == transport.Tries:
			return 0, err
		default: // drawing twice only skips a number
			if err := t.Pause(ctx, try); err != nil {
				return 0, err
			}
		}
	}
}
