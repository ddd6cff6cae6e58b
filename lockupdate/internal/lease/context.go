package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// Enter returns the ctx of a function of the call that now runs under the lock, which the call has
// asked for at asked.
func (k *Keeper) Enter(call event.Call, l *Lease, section bool, asked time.Time) *Context {
	c := &Context{parent: call.Ctx, keeper: k, key: call.Name, lease: l, until: k.holdLimit(k.Now()), depth: 1, section: section}
	k.mu.Lock()
	defer k.unlock()
	c.lock = l.holderLocked()
	if last := l.ctxLocked(); last != nil { // functions under one lease have the same token
		c.Drawn(last.Drawn(0))
	}
	if lost, _ := l.Value.under.(*loss); lost != nil {
		c.End(lost.why)
	} else {
		l.Value.under = c // the wheel looks at the lease at the previous until, and then finds this one
		k.beginLocked(l, call, section, asked)
	}
	return c
}

// EnterUnlocked returns the ctx of an UpdateFunc that runs without the lock.
func (k *Keeper) EnterUnlocked(parent context.Context, key string, lock named) *Context {
	return &Context{parent: parent, keeper: k, key: key, lock: lock, until: k.holdLimit(k.Now()), depth: 1}
}

// RequireLock returns an error if the UpdateFunc runs without the lock.
func (c *Context) RequireLock() error {
	if c.lease == nil {
		return errUnlocked
	}
	return nil
}

var errUnlocked = fmt.Errorf("%w: with Config.LockOnDemand, fn runs without the lock; call Update within a WithLock of the same key", rmw.ErrUnsupported)

// Nested returns the ctx of an UpdateFunc that runs within the critical section c.
func (c *Context) Nested(parent context.Context) *Context {
	return &Context{parent: parent, keeper: c.keeper, key: c.key, lock: c, lease: c.lease, until: c.until, depth: 1}
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

// Key returns the key of the lock.
func (c *Context) Key() string { return c.key }

// LockName is the name of the lock.
func (c *Context) LockName() string { return c.lock.LockName() }

// Section reports whether this is a critical section, and not an UpdateFunc.
func (c *Context) Section() bool { return c.section }

// Overdue returns an error once the function has held its lock for MaxHold.
func (c *Context) Overdue() error {
	if k := c.keeper; k.Now() >= c.until-k.tick {
		return k.HeldTooLong()
	}
	return nil
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

// Leave undoes Enter or one Again. The last one ends the critical section. lost says why the
// lock was lost before, if it was.
func (c *Context) Leave() (last bool, lost error) {
	lost = cmp.Or(c.Lost(), c.keeper.Err(c.lease))
	c.mu.Lock()
	c.depth--
	last = c.depth == 0
	c.mu.Unlock()
	if last {
		c.End(nil)
		holder := c.lock.(Holder)
		if c.keeper.leave(c.lease) {
			holder.LeaseLost()
		}
		holder.LeaveSection()
	}
	return last, lost
}

// Lost returns why the lock was lost before the ctx ended, or nil.
func (c *Context) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rare == nil {
		return nil
	}
	return c.rare.cause
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
	r := c.rareLocked()
	if r.inner == nil {
		parent := c.parent
		if c.beforeOuter { // later changes of parent do not matter
			parent = context.WithoutCancel(parent)
		}
		r.inner, r.cancel = context.WithCancelCause(parent)
		if c.lease == nil && !c.ended { // the keeper's loop does not watch MaxHold
			r.limit = time.AfterFunc(c.until-c.keeper.Now(), func() { c.End(c.keeper.HeldTooLong()) })
		}
		if c.ended {
			r.cancel(r.cause)
		}
	}
	return r.inner
}

// current is the cancellable context if it is needed to answer, and else parent: nothing
// has happened that parent does not know.
func (c *Context) current() context.Context {
	c.mu.Lock()
	needed := c.ended || c.rare != nil && c.rare.inner != nil
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
// process, the keeper's loop may notice later than the caller. The ctx of an outer lock
// does, too.
func (c *Context) Err() error {
	if err := c.current().Err(); err != nil {
		return err
	}
	if why := c.undetected(); why != nil {
		c.End(why)
	} else if c.parent.Err() != nil {
		c.endWithParent()
	}
	return c.current().Err()
}

// endWithParent ends the cancellable context with the parent, as it would end itself soon.
func (c *Context) endWithParent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rare; r != nil && r.inner != nil {
		r.cancel(context.Cause(c.parent))
	}
}

// undetected returns why the lock is lost if no loop has noticed yet.
func (c *Context) undetected() error {
	if c.lease != nil {
		return c.keeper.Err(c.lease)
	}
	return c.Overdue()
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	switch key := key.(type) {
	case ctxKey:
		if key == (ctxKey{c.keeper, c.LockName()}) {
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

// Token implements lock.Held; see package lockupdate.
func (c *Context) Token(ctx context.Context) (uint64, error) { return c.draw(ctx, "token") }

// Sequencer implements lock.Held. It draws the token.
func (c *Context) Sequencer(ctx context.Context) (lock.Sequencer, error) {
	token, err := c.draw(ctx, "sequencer")
	if err != nil {
		return lock.Sequencer{}, err
	}
	return lock.Sequencer{Name: c.key, Owner: c.owner(), Token: token}, nil
}

// owner is the owner of a lock that is held.
func (c *Context) owner() string {
	if outer, nested := c.lock.(*Context); nested {
		return outer.owner()
	}
	return c.lock.(Holder).Owner()
}

// State implements lock.Held.
func (c *Context) State() lock.State {
	if c.lease == nil || c.over() {
		return lock.Lost
	}
	return c.keeper.State(c.lease)
}

func (c *Context) draw(ctx context.Context, op string) (uint64, error) {
	key := rmw.Key{Name: c.key}
	if c.over() && c.Lost() == nil {
		return 0, driver.Fail(op, key, 0, fmt.Errorf("%w: this ctx no longer holds the lock; ask before fn returns, or before Unlock", rmw.ErrInvalid))
	}
	var token uint64
	err := c.RequireLock()
	if err == nil {
		token, err = c.drawToken(ctx)
	}
	if err != nil {
		if lost := c.Lost(); lost != nil && errors.Is(err, context.Canceled) { // ctx may be c itself
			err = redisx.Because(rmw.ErrLockLost, lost)
		}
		return 0, driver.Fail(op, key, 0, redisx.Blame(ctx, err))
	}
	return token, nil
}

// drawToken draws the token of the lease once. Concurrent calls may skip a number.
func (c *Context) drawToken(ctx context.Context) (uint64, error) {
	for try := 1; ; try++ {
		if err := c.keeper.Err(c.lease); err != nil {
			return 0, err
		}
		if token := c.Drawn(0); token != 0 {
			return token, nil
		}
		token, err := c.keeper.values.Token(ctx, FencePrefix+c.LockName(), time.Now().UnixMicro(), fenceTTL)
		if err != nil { // drawing twice only skips a number
			if again, err := c.keeper.transport.Again(ctx, try, err); !again {
				return 0, err
			}
			continue
		}
		// The lock may have been lost before the token was drawn, which is then too
		// great: check the lease again before the token is returned.
		if c.keeper.Err(c.lease) == nil {
			c.Drawn(token)
		}
	}
}

// Drawn returns the token that was drawn under the lease first, or token if there is none
// yet, which is then the first one. 0 is no token.
func (c *Context) Drawn(token uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if outer, nested := c.lock.(*Context); nested {
		return outer.Drawn(token)
	}
	if c.rare == nil && token == 0 {
		return 0
	}
	r := c.rareLocked()
	r.token = cmp.Or(r.token, token)
	return r.token
}
