package holder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// state is how far a call has come.
type state uint8

const (
	queued   state = iota
	unlocked       // its fn is being called without the lock
	running        // its fn is being called, or it has the critical section
	returned       // its fn has returned, and the commit follows
	orphaned       // the lock was lost while it ran
	answered       // result and err are the answer
	left           // its caller no longer waits
)

// transitions lists every change of state, and what causes it.
var transitions = map[state][]state{
	queued: {
		running,  // dispatched
		answered, // refused: the lock, the store or the value cannot be had
		left,     // ctx, Config.MaxWait or Close ended the wait
	},
	unlocked: {
		queued,   // another process holds the lock
		returned, // fn returned
	},
	running: {
		returned, // fn returned
		queued,   // the value that fn was given was never stored
		answered, // the same, after Config.MaxAttempts
		orphaned, // the lease was lost
		left,     // fn panicked, or the caller left before fn was called
	},
	returned: {
		answered, // the commit was answered
		queued,   // the commit was refused
		left,     // ctx ended before the commit was answered
	},
	orphaned: {
		queued, // its own commit was refused
		left,   // ctx ended before the caller knew of its turn
	},
}

// Call is one call of Update or Lock. Only its own goroutine calls fn and reads the answer;
// a holder dispatches it and answers it.
type Call struct {
	Attempt
	queues  *Queues
	ctx     context.Context
	lock    string
	section bool // a call of Lock, without fn
	noWait  bool
	of      *Call // for which the section is: fn of that runs without the lock, and asks for a token
	arrived time.Time
	asked   time.Time // when it last began to wait for the lock
	entered bool      // a function of it has run under the lock
	queue   *waitQueue
	wake    chan struct{} // of size one: the state has become running or answered

	// Guarded by queue.mu. While the state is running or answered, they belong to the
	// caller's goroutine, as does the Attempt.
	state        state
	taking       *taking // of an fn without the lock; nil: it has not asked for a token
	prev, next   *Call
	blockedSince time.Time     // since when it waits for others; zero: it does not
	waited       time.Duration // before that
	lease        *lease.Lease
	held         *lease.Context // under which fn ran
	result       rmw.Result
}

func (s *Queues) newCall(ctx context.Context, key rmw.Key, lock string) *Call {
	return &Call{Attempt: Attempt{key: key}, queues: s, ctx: ctx, lock: lock, arrived: time.Now(), wake: make(chan struct{}, 1)}
}

// NewUpdate returns a call of Update. fn must not be nil.
func (s *Queues) NewUpdate(ctx context.Context, key rmw.Key, lock string, fn rmw.UpdateFunc) *Call {
	c := s.newCall(ctx, key, lock)
	c.fn = fn
	return c
}

// goOn waits for the lock, calls fn and waits for the commit, until the call is answered.
func (c *Call) goOn() (rmw.Result, error) {
	for {
		if c.start() == left {
			return c.result, c.unknown(c.err)
		}
		if c.runFn() {
			return c.result, c.err
		}
	}
}

// Lock takes the lock for a critical section. With noWait it does not wait.
func (s *Queues) Lock(ctx context.Context, name, lock string, noWait bool) (held *lease.Context, err error) {
	for held == nil && err == nil {
		c := s.newCall(ctx, rmw.Key{Name: name}, lock)
		c.section, c.noWait = true, noWait
		held, err = c.enter()
	}
	return held, err
}

// enter waits for the critical section of a call. It returns neither it nor an error if the
// lock was lost before the caller knew that it had it.
func (c *Call) enter() (*lease.Context, error) {
	if !c.queues.join(c) {
		c.err = c.fail(c.op(), errTaken)
		c.emitRefused()
		return nil, c.err
	}
	switch c.start() {
	case running:
		held := c.queues.keeper.Enter(c.caller(c.ctx), c.lease, true, c.asked)
		c.emitWaited()
		return held, nil
	case left:
		return nil, c.err
	}
	return nil, nil
}

var errTaken = fmt.Errorf("%w: the lock is taken", rmw.ErrContended)

func (c *Call) setLocked(next state) {
	if c.state != next && !slices.Contains(transitions[c.state], next) {
		panic(fmt.Sprintf("lockupdate: a call changed from state %d to %d", c.state, next))
	}
	c.state = next
}

// start waits until the call is dispatched, or answered: then it returns left.
func (c *Call) start() state {
	var patience <-chan time.Time
	if limit := c.queues.options.MaxWait; limit > 0 {
		c.queue.mu.Lock()
		rest := limit - c.waited
		c.queue.mu.Unlock()
		t := c.queues.timer(rest)
		defer c.queues.stop(t)
		patience = t.C
	}
	var long <-chan time.Time
	if c.queues.options.Observed {
		t := c.queues.timer(lock.WaitingAfter)
		defer c.queues.stop(t)
		long = t.C
	}
	c.asked = time.Now()
	s, reported := c.await(patience, long)
	var err error
	if s == answered || s == left {
		s, err = left, c.err
	}
	if reported {
		c.emit(event.WaitEnded, time.Since(c.asked), err)
	}
	if s == left && !c.entered {
		c.emitRefused()
	}
	return s
}

// await also reports a long wait to the Observer.
func (c *Call) await(patience, long <-chan time.Time) (s state, reported bool) {
	closing := c.queues.gate.Closing
	for {
		why := rmw.ErrClosed
		select {
		case <-c.wake:
			c.queue.mu.Lock()
			defer c.queue.mu.Unlock()
			if c.section && c.state == running {
				c.queue.holder.running = nil // the holder stays detached, and keeps no Call alive
			}
			return c.state, reported
		case <-long:
			c.emit(event.Waiting, 0, nil)
			reported = true
			continue
		case <-c.ctx.Done():
			why = redisx.EndOf(c.ctx)
		case <-patience:
			why = redisx.Because(rmw.ErrContended,
				fmt.Errorf("lock still held by another owner after Config.MaxWait (%v)", c.queues.options.MaxWait))
			patience = nil
		case <-closing:
			closing = nil
		}
		if s := c.leave(why); s == answered || s == left {
			return s, reported
		}
	}
}

// leave ends the wait of the call, which then has its answer, unless it must go on: once
// its fn was called, only the end of its ctx ends it.
func (c *Call) leave(why error) state {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	ended := c.ctx.Err() != nil
	// Config.MaxWait bounds the first wait for the lock, and Close ends the wait of calls before
	// their first fn.
	started := c.lease != nil || c.attempts > 0 && errors.Is(why, rmw.ErrClosed)
	if c.state == answered || !ended && (c.state != queued || started) {
		return c.state
	}
	op := c.op()
	switch h := c.queue.holder; c.state {
	case queued:
		c.queue.removeLocked(c)
		switch {
		case h != nil && !h.detachedLocked() && h.outage != nil && ended:
			why = redisx.Because(rmw.ErrUnavailable, why)
		case h != nil && !h.detachedLocked() && h.outage != nil && errors.Is(why, rmw.ErrContended): // by MaxWait
			why = h.outage
		case ended && !c.blockedSince.IsZero():
			why = redisx.Because(rmw.ErrContended, why)
		}
		if h != nil {
			h.wakeLocked()
		}
	case running: // but fn was not called yet
		if h.detachedLocked() {
			h.attachLocked(h.resume)
			break
		}
		h.running = nil
		c.attempts--
		h.dispatchLocked()
		h.wakeLocked()
	case orphaned: // and fn was not called yet
		c.attempts = max(0, c.attempts-1)
	case returned:
		if c.err != nil {
			c.setLocked(left)
			c.result = c.failure()
			return left
		}
		if op = "commit"; c.wrote {
			why = redisx.Because(rmw.ErrOutcomeUnknown, why)
		}
	}
	c.setLocked(left)
	c.result, c.err = c.failure(), c.fail(op, why)
	return left
}

// runFn calls fn under the lock. It reports whether the call then has its answer.
func (c *Call) runFn() (done bool) {
	c.held, c.entered = c.queues.keeper.Enter(c.caller(c.ctx), c.lease, false, c.asked), true
	c.emitWaited()
	c.callFn((*Call).abandon)
	return !c.complete() && c.commitOrphaned()
}

// callFn calls fn with the ctx c.held, and abandon after a panic or runtime.Goexit.
func (c *Call) callFn(abandon func(*Call)) {
	returned := false
	defer func() {
		if !returned {
			c.held.End(nil)
			abandon(c)
		}
	}()
	c.Attempt.call(c.ctx, c.held)
	returned = true
}

// succeedLocked answers with the result of fn: a value or an error.
func (c *Call) succeedLocked() {
	if c.err != nil {
		c.answerLocked(c.failure(), c.err)
		return
	}
	c.answerLocked(c.success(), nil)
}

func (c *Call) success() rmw.Result {
	res := c.failure()
	res.Before, res.After, res.Written, res.Token = c.given, c.after, c.wrote, c.token
	return res
}

// failure is the Result of a failed call.
func (c *Call) failure() rmw.Result { return rmw.Result{Attempts: c.attempts, Waited: c.waitedFor()} }

func (c *Call) waitedFor() time.Duration {
	if c.blockedSince.IsZero() {
		return c.waited
	}
	return c.waited + time.Since(c.blockedSince)
}

// op names the operation of a call that was not dispatched, in errors.
func (c *Call) op() string {
	if c.section && c.of == nil {
		return "lock"
	}
	return "acquire"
}

// answerLocked wakes the caller, unless it has left.
func (c *Call) answerLocked(res rmw.Result, err error) {
	if c.state == left {
		return
	}
	c.result, c.err = res, err
	c.setLocked(answered)
	c.wake <- struct{}{}
}
