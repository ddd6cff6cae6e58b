package holder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

func (s *Queues) newCall(ctx context.Context, key rmw.Key, lock string) *Call {
	return &Call{Attempt: Attempt{key: key}, queues: s, ctx: ctx, lock: lock, arrived: time.Now(), wake: make(chan struct{}, 1)}
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
