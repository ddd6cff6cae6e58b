package locktest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// model follows the calls and the faults of a program.
type model struct {
	clients []client
	locks   map[string]*modelLock
	pending []*caller // the calls that have not returned
	unsure  time.Time // until then the last fault may keep a lock taken
	next    atomic.Uint64
}

func newModel() model { return model{locks: map[string]*modelLock{}} }

// client is a Locker.
type client struct {
	faults  int       // that go on
	cut     time.Time // since then no reply reaches it; zero: they do
	trouble time.Time // until then the last fault may be felt
	broken  bool      // its next requests may find broken connections
	closed  bool
}

// modelLock is a lock.
type modelLock struct {
	holders []*caller
	changed time.Time // when a call of it returned or a section ended last
	entered []*caller // all holders, in order
	taken   time.Time // when it was taken away last
}

// state is the state of a call.
type state struct {
	began, entered time.Time
	calls          int
	troubled       atomic.Bool // its Locker was disturbed
	mayLose        atomic.Bool // a fault may cost it the lock
	taken          bool        // its lock was taken away, or may have been
	takenAt        time.Time   // when, in fn
	inFn           bool
	mustLose       bool
	token          uint64
	seq            lock.Sequencer
	stored         []byte
}

func (r *programRun) lockNamed(name string) *modelLock {
	if r.locks[name] == nil {
		r.locks[name] = &modelLock{}
	}
	return r.locks[name]
}

// settled reports whether no fault is felt any more. The methods that end with Locked need mu.
func (r *programRun) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settledLocked()
}

func (r *programRun) settledLocked() bool {
	return !time.Now().Before(r.unsure) && !slices.ContainsFunc(r.clients, func(c client) bool { return c.faults > 0 })
}

// silence begins a fault of a Locker that loses all replies, unless there is one.
func (r *programRun) silence(locker int) bool {
	if r.silent(locker) {
		return false
	}
	r.disturb(locker)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[locker].cut = time.Now()
	return true
}

// disturb begins a fault of a Locker.
func (r *programRun) disturb(locker int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[locker].faults++
	for _, c := range r.pending {
		if c.locker == locker {
			c.troubled.Store(true)
			c.mayLose.Store(true)
		}
	}
}

// silent reports whether no reply reaches a Locker.
func (r *programRun) silent(locker int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.clients[locker].cut.IsZero()
}

// over ends a fault of a Locker.
func (r *programRun) over(locker int, silent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	c := &r.clients[locker]
	if c.faults--; silent {
		c.cut = time.Time{}
	}
	c.trouble, c.broken = now.Add(soon), true
	r.unsureLocked()
}

func (r *programRun) unsureLocked() { r.unsure = time.Now().Add(r.deadFor() + r.ReleasedWithin) }

// closing begins the Close of a Locker.
func (r *programRun) closing(locker int) {
	r.disturb(locker)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[locker].closed = true
}

// stalled notes that a process stood still.
func (r *programRun) stalled(locker int, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.pending {
		if c.locker == locker && c.inFn && d >= r.Lease {
			c.mustLose = true
		}
	}
}

// took notes that the lock name was taken away, or each lock if it is "", from one Locker or, if locker is anyone, from all.
func (r *programRun) took(name string, locker int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, c := range r.pending {
		if name != "" && name != c.name || locker != anyone && locker != c.locker {
			continue
		}
		for _, o := range r.pending {
			if o == c || r.Session && o.locker == c.locker {
				o.mayLose.Store(true)
			}
		}
		if c.taken = true; c.inFn && c.takenAt.IsZero() {
			c.takenAt = now
		}
	}
	for of, l := range r.locks {
		if name == "" || name == of {
			l.taken = now
		}
	}
	r.unsureLocked()
}

const anyone = -1

// holder is the call that took the lock.
func (c *caller) holder() *caller {
	if c.outer != nil {
		return c.outer
	}
	return c
}

// excused reports whether the lock may be lost. A Target need not declare a MaxHold beyond its patience.
func (c *caller) excused() bool {
	h := c.holder()
	most := max(h.patience(), time.Hour)
	if h.MaxHold > 0 {
		most = h.MaxHold - soon
	}
	return h.mayLose.Load() || time.Since(h.entered) > most
}

func (c *caller) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.began = now
	own := c.clients[c.locker]
	c.troubled.Store(own.broken)
	if own.faults > 0 || now.Before(own.trouble) {
		c.troubled.Store(true)
		c.mayLose.Store(true)
	}
	if l := c.lockNamed(c.name); c.ReleasedWithin > 0 && !l.taken.IsZero() && now.Sub(l.taken) < c.Lease+soon {
		c.taken = true // the Locker may have kept it from an earlier call
		c.mayLose.Store(true)
	}
	c.pending = append(c.pending, c)
}

// freeFor returns how long the lock has been free for a call that waits, as far as that is sure.
func (c *caller) freeForLocked() time.Duration {
	l := c.lockNamed(c.name)
	if len(l.holders) > 0 || !c.settledLocked() || c.troubled.Load() {
		return 0
	}
	since := c.began
	for _, t := range []time.Time{l.changed, c.unsure} {
		if t.After(since) {
			since = t
		}
	}
	return time.Since(since)
}

// grace is the time in which a free lock is granted. A Locker that polls may ask seldom after a long wait.
func (c *caller) grace() time.Duration { return max(c.ReleasedWithin+soon, time.Since(c.began)/2) }

// enter judges the beginning of fn.
func (c *caller) enter(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.fns, c.entered, c.inFn = ctx, time.Now(), true
	switch {
	case c.calls > 1:
		c.Errorf("%s: fn was called again", c)
	case c.plan.limit == endedBefore:
		c.Errorf("%s: fn was called with an ended ctx", c)
	case ctx.Value(ctxKey{}) != c:
		c.Errorf("%s: fn's ctx lacks the caller's value", c)
	case c.plan.way != byLock && goroutine.ID() != c.goroutine:
		c.Errorf("%s: fn is on another goroutine", c)
	}
	l := c.lockNamed(c.name)
	if c.outer != nil {
		if !c.Reentrant {
			c.Errorf("%s: fn was called under the lock itself, and the Locker is not reentrant", c)
		}
		return
	}
	for _, o := range l.holders {
		ended := o.fns.Err() != nil
		switch {
		case o.taken, ended && o.excused():
		case o.excused():
			c.Errorf("%s: fn runs, and %s has lost the lock and its ctx has not ended", c, o)
		default:
			c.Errorf("%s: fn runs while that of %s does", c, o)
		}
	}
	if d := c.freeForLocked(); d > c.grace() {
		c.Errorf("%s: the lock was free for %v before it was granted", c, d)
	}
	c.orderLocked()
	l.holders, l.entered = append(l.holders, c), append(l.entered, c)
}

// orderLocked requires that no other call has waited for longer.
func (c *caller) orderLocked() {
	if !c.Ordered || !c.settledLocked() || c.troubled.Load() || c.plan.way == byTryLock {
		return
	}
	for _, o := range c.pending {
		if o.name == c.name && o.calls == 0 && o.plan.way != byTryLock && o.outer == nil && !o.troubled.Load() && o.ctx.Err() == nil &&
			o.began.Before(c.began) && o.began.After(c.unsure) {
			c.Errorf("%s: the lock was granted before %s got it, which came %v earlier", c, o, c.began.Sub(o.began))
			return
		}
	}
}

// leave judges fn's ctx at the end of fn.
func (c *caller) leave(ctx context.Context) {
	if c.outer != nil {
		return
	}
	if c.ctx.Err() != nil {
		c.Within(soon, ctx.Done())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.inFn = false
	for _, since := range []time.Time{c.takenAt, c.clients[c.locker].cut} {
		if since.Before(c.entered) && !since.IsZero() {
			since = c.entered
		}
		if !since.IsZero() && c.Lease > 0 && now.Sub(since) > c.Lease+soon {
			c.mustLose = true
		}
	}
	if !c.plan.blind {
		c.judgeCtx(ctx)
	}
	l := c.lockNamed(c.name)
	l.holders = slices.DeleteFunc(l.holders, func(o *caller) bool { return o == c })
	l.changed = now
}

func (c *caller) judgeCtx(ctx context.Context) {
	err, cause := ctx.Err(), context.Cause(ctx)
	lost := errors.Is(cause, rmw.ErrLockLost)
	switch {
	case err == nil && c.mustLose:
		c.Errorf("%s: the lock was lost, and fn's ctx has not ended", c)
	case err == nil && c.ctx.Err() != nil:
		c.Errorf("%s: the caller's ctx has ended, and fn's has not", c)
	case err != nil && lost && !c.excused() && !c.lostOutside():
		c.Errorf("%s: fn's ctx ended without a reason: %v", c, cause)
	case err != nil && !lost && c.ctx.Err() == nil:
		c.Errorf("%s: fn's ctx ended, and the caller's has not: %v", c, cause)
	case lost && !c.lostOutside() && lock.StateOf(ctx) != lock.Lost:
		c.Errorf("%s: the state of a lost lock is %v", c, lock.StateOf(ctx))
	}
	c.mustLose = c.mustLose || lost && !c.lostOutside()
}

// lostOutside reports whether a lock of an outer call may be lost.
func (c *caller) lostOutside() bool {
	for o := c.in; o != nil; o = o.in {
		if o.excused() {
			return true
		}
	}
	return false
}

// end judges how the call ended.
func (c *caller) end(err error, p any, returned bool, stack []byte) {
	end := twin.Endings()[c.plan.ending]
	c.mu.Lock()
	switch ran := c.calls > 0; {
	case p != nil && (!ran || p != end.Panic):
		c.Errorf("%s: panic: %v (%T)\n%s", c, p, p, stack)
	case p == nil && !returned && (!ran || !end.Exit):
		c.Errorf("%s: it has ended its goroutine", c)
	case returned && ran && (end.Panic != nil || end.Exit):
		c.Errorf("%s: fn ended with %s, and the call returned %v", c, end.Code, err)
	case returned && ran:
		c.judgeResult(err, end.Err)
	case returned:
		c.judgeRefusal(err)
	}
	c.pending = slices.DeleteFunc(c.pending, func(o *caller) bool { return o == c })
	c.lockNamed(c.name).changed = time.Now()
	c.mu.Unlock()
	if c.calls > 0 && c.outer == nil {
		if s := lock.StateOf(c.fns); s != lock.Lost {
			c.Errorf("%s: the state of fn's ctx is %v after the call", c, s)
		}
		c.askAfter()
	}
}

// judgeResult judges the error of a call that has called fn.
func (c *caller) judgeResult(err, fns error) {
	lost := errors.Is(err, rmw.ErrLockLost)
	switch {
	case fns != nil && err != fns: //nolint:errorlint // it has to be the same
		c.Errorf("%s: fn returned %v, and the call %v", c, fns, err)
	case fns != nil:
	case err == nil && c.mustLose:
		c.Errorf("%s: the lock was lost, and the error is nil", c)
	case err != nil && !lost:
		c.Errorf("%s: fn returned nil, and the call %v", c, err)
	case lost && !c.excused():
		c.Errorf("%s: nothing can have cost it the lock: %v", c, err)
	}
}

// judgeRefusal judges the error of a call that has not called fn.
func (c *caller) judgeRefusal(err error) {
	l, ended := c.lockNamed(c.name), c.ctx.Err()
	if deadline, _ := c.ctx.Deadline(); ended == nil && !time.Now().Before(deadline) {
		ended = context.DeadlineExceeded // its timer has yet to run
	}
	free := c.freeForLocked()
	busy := len(l.holders) > 0 || !c.settledLocked() || !l.changed.Add(c.ReleasedWithin).Before(c.began) ||
		slices.ContainsFunc(c.pending, func(o *caller) bool { return o != c && o.name == c.name })
	is := func(reason error) bool { return errors.Is(err, reason) }
	switch {
	case err == nil:
		c.Errorf("%s: it returned nil, and did not call fn", c)
	case c.outer != nil && !c.Reentrant && is(rmw.ErrInvalid):
	case c.plan.limit == endedBefore:
		if !is(ended) && !is(rmw.ErrClosed) && !(is(rmw.ErrLockLost) && c.lostOutside()) {
			c.Errorf("%s: its ctx had ended, and the error is %v", c, err)
		}
	case free > c.grace():
		c.Errorf("%s: the lock was free for %v, and the call did not get it: %v", c, free, err)
	case is(rmw.ErrClosed) && c.clients[c.locker].closed,
		is(rmw.ErrUnavailable) && c.troubled.Load(),
		is(rmw.ErrLockLost) && c.lostOutside(),
		is(rmw.ErrContended) && c.plan.way == byTryLock && (busy || c.troubled.Load() || ended != nil),
		is(rmw.ErrContended) && c.plan.way != byTryLock && ended != nil && is(ended),
		ended != nil && is(ended):
	default:
		c.Errorf("%s: it has no reason for the error %v", c, err)
	}
}
