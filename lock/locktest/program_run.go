package locktest

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/lock"
)

const (
	// callLimit ends the ctx of a call.
	callLimit = 3 * time.Hour
	// stuckAfter is a time in which all calls of a program end, if they heed their ctx.
	stuckAfter = 40 * time.Hour
)

// programRun is one run of a program.
type programRun struct {
	*check
	program

	lockers []lock.Locker
	async   []<-chan struct{} // of the main goroutine
	faults  sync.WaitGroup

	mu sync.Mutex // guards the model
	model
}

// runProgram runs a program and returns the violations.
func runProgram(tb testing.TB, target Target, p program) error {
	return suite.Run(context.Background(), 365*24*time.Hour, func(ck *suite.Check) {
		r := &programRun{check: &check{Target: target, Check: ck, tb: tb}, program: p, model: newModel()}
		for range lockers {
			r.add()
		}
		for _, a := range p.acts {
			r.do(r.Ctx, a, nil)
			if ck.Violations() > 0 {
				break
			}
		}
		r.await(r.async, "a call has not returned %v after the program; its ctx ended after %v", stuckAfter, callLimit)
		r.faults.Wait()
		if ck.Violations() == 0 && !p.ends {
			r.last()
		}
		for i := range r.lockers {
			r.closeLocker(i)
		}
	})
}

func (r *programRun) add() {
	r.lockers = append(r.lockers, r.open())
	r.clients = append(r.clients, client{})
}

// await waits for goroutines. Without a call that hangs that takes no time.
func (r *programRun) await(done []<-chan struct{}, format string, args ...any) {
	for _, d := range done {
		if !r.Within(stuckAfter, d) {
			r.Fatalf(format, args...)
		}
	}
}

// rest is a time after which no fault is felt.
func (t Target) rest() time.Duration { return t.deadFor() + t.ReleasedWithin + time.Minute }

// last requires each Locker and a new one to get each lock, while another gets the next one.
func (r *programRun) last() {
	r.Pass(r.rest())
	for i := range r.lockers {
		if r.clients[i].broken {
			r.reconnect(i)
		}
	}
	r.add()
	for name := range r.program.names {
		for i := range r.lockers {
			r.start(r.Ctx, lastCall(i, name), nil)
			r.Pass(r.ReleasedWithin)
		}
	}
}

// lastCall takes a lock, while another Locker takes the next lock.
func lastCall(locker, name int) *callPlan {
	next := &callPlan{way: byTryLock, locker: (locker + 1) % lockers, name: (name + 1) % names, crowd: 1, detached: true}
	return &callPlan{way: byTryLock, locker: locker, name: name, crowd: 1, acts: []act{
		{kind: doAsk, locker: locker, name: name}, {kind: doCall, call: next},
	}}
}

// do does an act of the program, or of the critical section of c.
func (r *programRun) do(ctx context.Context, a act, c *caller) {
	switch a.kind {
	case doCall:
		r.start(ctx, a.call, c)
	case doPass:
		r.Pass(a.pass)
	case doAsk:
		r.ask(ctx, a, c)
	case doCancel:
		if c != nil {
			c.cancel()
			if !r.Within(soon, ctx.Done()) {
				r.Errorf("%s: fn's ctx has not ended %v after the caller's", c, soon)
			}
		}
	case doClose:
		i := a.locker
		r.async = append(r.async, r.Go(func() { r.closeLocker(i) }))
		r.Pass(time.Millisecond)
	default:
		r.fault(a)
	}
}

// start makes a call, or several at once.
func (r *programRun) start(ctx context.Context, p *callPlan, in *caller) {
	var calls []<-chan struct{}
	for i := range p.crowd {
		c := &caller{programRun: r, plan: p, locker: p.locker, name: r.program.names[p.name]}
		if p.spread {
			c.locker = (p.locker + i) % lockers
		}
		if p.apart {
			c.name += strconv.Itoa(i)
		}
		if !p.detached {
			c.in = in
		}
		if in != nil && !twin.Endings()[p.ending].Exit {
			c.run(ctx)
			return
		}
		calls = append(calls, r.Go(func() { c.run(ctx) }))
	}
	if p.async {
		r.async = append(r.async, calls...)
		r.Pass(time.Millisecond) // the order of arrival is that of the program
		return
	}
	for _, done := range calls {
		r.Within(stuckAfter, done)
	}
}

// caller is one call while the program runs.
type caller struct {
	*programRun

	plan   *callPlan
	locker int
	name   string
	in     *caller // the call of fn that runs it; nil: none

	ctx       context.Context
	cancel    func()
	goroutine string
	outer     *caller // the outermost call of this lock that it joins; nil: none
	fns       context.Context

	state
}

// String names the call in a violation.
func (c *caller) String() string {
	method := [...]string{"WithLock", "TryLock", "Lock"}[c.plan.way]
	return method + " of " + strconv.QuoteToASCII(short(c.name)) + " by " + lockerName(c.locker)
}

func short(name string) string {
	if len(name) > 40 {
		return name[:18] + "…" + name[len(name)-18:]
	}
	return name
}

// run makes the call and judges it.
func (c *caller) run(parent context.Context) {
	if c.plan.detached {
		parent = c.Ctx
	}
	limit := c.plan.limit
	if limit == 0 {
		limit = callLimit
	}
	parent = context.WithValue(parent, ctxKey{}, c)
	if c.plan.data > 0 {
		data := make([]byte, c.plan.data)
		copy(data, strconv.FormatUint(c.next.Add(1), 36)) // no two are the same
		parent = lock.WithData(parent, data)
	}
	c.stored = lock.DataOf(parent)
	ctx, cancel := context.WithTimeout(parent, max(limit, time.Nanosecond))
	defer cancel()
	if limit == endedBefore {
		cancel()
	}
	c.ctx, c.cancel, c.goroutine = ctx, cancel, goroutine.ID()
	for o := c.in; o != nil; o = o.in {
		if o.locker == c.locker && o.name == c.name && o.outer == nil {
			c.outer = o
		}
	}
	c.begin()
	var err error
	returned := false
	defer func() {
		p := recover()
		var stack []byte
		if p != nil {
			stack = debug.Stack()
		}
		c.end(err, p, returned, stack)
	}()
	err = c.make(c.lockers[c.locker])
	returned = true
}

func (c *caller) make(l lock.Locker) error {
	switch c.plan.way {
	case byWithLock:
		return l.WithLock(c.ctx, c.name, c.fn)
	case byTryLock:
		return l.TryLock(c.ctx, c.name, c.fn)
	}
	h, err := l.Lock(c.ctx, c.name)
	if err != nil {
		if h != nil {
			c.Errorf("%s: a Hold with the error %v", c, err)
		}
		return err
	}
	_ = c.fn(h.Context())
	if c.plan.other {
		<-c.Go(func() { err = h.Unlock() })
		_ = h.Unlock()
	} else {
		err = h.Unlock()
	}
	if c.outer == nil && !c.Within(soon, h.Context().Done()) {
		c.Errorf("%s: the Context of the Hold has not ended %v after Unlock", c, soon)
	}
	return err
}

// fn is the critical section.
func (c *caller) fn(ctx context.Context) error {
	c.enter(ctx)
	for _, a := range c.plan.acts {
		c.do(ctx, a, c)
	}
	c.leave(ctx)
	if c.plan.way != byLock && goroutine.ID() != c.goroutine { // nothing recovers a panic there
		return errors.New("fn is on another goroutine")
	}
	return twin.Endings()[c.plan.ending].End()
}

// closeLocker closes a Locker, if it can be closed.
func (r *programRun) closeLocker(i int) {
	closer, ok := r.lockers[i].(io.Closer)
	if !ok {
		return
	}
	r.closing(i)
	if err := closer.Close(); err != nil && r.settled() {
		r.Errorf("Close of %s: %v", lockerName(i), err)
	}
	r.over(i, false)
}

// fault makes a fault. One that lasts ends while the program goes on.
func (r *programRun) fault(a act) {
	l := r.lockers[a.locker]
	lasts := func(begin func(lock.Locker) func()) {
		if !r.silence(a.locker) {
			return
		}
		end := begin(l)
		r.faults.Go(func() {
			r.Pass(a.pass)
			end()
			r.over(a.locker, true)
		})
	}
	switch a.kind {
	case doCut:
		lasts(r.Faults.Cut)
	case doLoseReply:
		lasts(r.Faults.LoseReply)
	case doLate:
		lasts(r.Faults.Late)
	case doStall:
		r.disturb(a.locker)
		r.Faults.Stall(l, a.pass)
		r.stalled(a.locker, a.pass)
		r.over(a.locker, false)
	case doReconnect:
		r.disturb(a.locker)
		r.Faults.Reconnect(l)
		r.over(a.locker, false)
	case doExpire:
		r.disturb(a.locker)
		r.took("", a.locker)
		r.Faults.Expire(l)
		r.over(a.locker, false)
	case doTakeAway:
		name := r.program.names[a.name]
		r.took(name, anyone)
		if err := r.Faults.TakeAway(r.Ctx, name); err != nil {
			r.Errorf("take the lock away: %v", err)
		}
		r.took(name, anyone)
	case doRestart, doForget:
		for i := range r.lockers {
			r.disturb(i)
		}
		if a.kind == doForget {
			r.took("", anyone)
			r.Faults.Forget()
		} else {
			r.Faults.Restart()
		}
		for i := range r.lockers {
			r.over(i, false)
		}
	}
}

// reconnect has a Locker find its broken connections.
func (r *programRun) reconnect(locker int) {
	var calls []<-chan struct{}
	for i := range 32 {
		calls = append(calls, r.Go(func() {
			_ = r.lockers[locker].TryLock(r.Ctx, "locktest:reconnect:"+lockerName(locker)+strconv.Itoa(i), nothing)
		}))
	}
	r.await(calls, "a call after a fault has not returned after %v", stuckAfter)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[locker].broken = false
}
