package holder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
	rmwdriver "github.com/unwatch/unwatch/rmw/driver"
)

func (s *Queues) newCall(ctx context.Context, key rmw.Key, lock string) *Call {
	return &Call{
		Attempt: Attempt{key: key}, queues: s, ctx: ctx, lock: lock,
		arrived: time.Now(), seq: s.seq.Add(1), wake: make(chan struct{}, 1),
	}
}

func (c *Call) setLocked(next state) {
	if c.state != next && !slices.Contains(transitions[c.state], next) {
		panic(fmt.Sprintf("lockupdate: a call changed from state %d to %d", c.state, next))
	}
	c.state = next
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
	if c.section {
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

// errTooMany is the reason of a call whose fn has run Config.MaxAttempts times.
func errTooMany(attempts int) error {
	return fmt.Errorf("%w: the key had changed after each of %d runs of fn; does fn write this key itself, instead of returning the value?",
		rmw.ErrContended, attempts)
}

var errTaken = fmt.Errorf("%w: the lock is taken", rmw.ErrContended)

// emit reports an event of the call.
func (c *Call) emit(kind event.Kind, took time.Duration, err error) {
	c.queues.emit(event.Event{Kind: kind, Lock: c.lock, N: 1, Took: took, Err: err, Call: c.caller(c.ctx)})
}

// caller is the call in events, with its own ctx or one of several calls.
func (c *Call) caller(ctx context.Context) event.Call {
	return event.Call{Ctx: ctx, Name: c.key.Name, Label: c.key.Label}
}

// emitRefused reports a call that ended without the lock.
func (c *Call) emitRefused() {
	c.emit(event.Refused, time.Since(c.arrived), c.err)
}

func (c *Call) emitWaited() {
	if c.waited > 0 {
		c.emit(event.Waited, c.waited, nil)
	}
}

// unknown reports an update with an unknown outcome. An rmw.ErrOutcomeUnknown of fn
// itself does not count.
func (c *Call) unknown(err error) error {
	if c.wrote && errors.Is(err, rmw.ErrOutcomeUnknown) {
		c.emit(event.Unknown, 0, err)
	}
	return err
}

// call calls fn with ctx, traces its reads of a hash, and records its results. caller is the ctx
// of the caller.
func (a *Attempt) call(caller context.Context, ctx *lease.Context) {
	given := rmwdriver.Traced(a.given)
	next, err := a.fn(ctx, given)
	ctx.End(nil)
	a.token = ctx.Drawn(0)
	a.reads.Fields, a.reads.Partial = rmwdriver.Reads(given, next, err)
	a.validate(caller, ctx.Lost(), rmwdriver.Untraced(next), err)
}

// validate records the result of fn: a value to write, or an error. lost is why the lock
// was lost while fn ran.
func (a *Attempt) validate(caller context.Context, lost error, next rmw.Value, err error) {
	a.after, a.wrote, a.err = a.given, false, nil
	if err != nil {
		a.err = err
		if lost != nil && caller.Err() == nil && errors.Is(err, context.Canceled) {
			a.err = a.fail("update", redisx.Because(lost, notCanceled{err}))
		}
		return
	}
	if err := redisx.EndOf(caller); err != nil {
		a.err = a.fail("commit", err)
		return
	}
	wrote, ttl, err := rmwdriver.CheckWrite(a.key, a.given, next)
	switch {
	case err != nil:
		a.err = a.fail("commit", err)
	case wrote:
		a.after, a.wrote, a.ttl = next.WithTTL(0), true, ttl
	}
}

// request is the commit of the attempt alone.
func (a *Attempt) request() driver.CommitRequest {
	return driver.CommitRequest{Key: a.key, Base: a.given, Next: a.after, Reads: a.reads, TTL: a.ttl}
}

// rebase applies the changes of fn to the hash of the key at the commit. It had the same
// read set, so that fn would have done the same.
func (a *Attempt) rebase(held rmw.Value) {
	given := a.given
	a.given = held
	if !a.wrote {
		a.after = held
		return
	}
	a.after = driver.DeltaOf(given, a.after).Apply(held)
}

func (a *Attempt) fail(op string, err error) error { return driver.Fail(op, a.key, a.attempts, err) }

// notCanceled is an error of fn without the context.Canceled in it: the caller's ctx has
// not ended, and the call may be tried again.
type notCanceled struct{ err error }

func (e notCanceled) Error() string      { return e.err.Error() }
func (e notCanceled) As(target any) bool { return errors.As(e.err, target) }
func (e notCanceled) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}
