package holder

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// NewUpdate returns a call of Update. fn must not be nil.
func (s *Queues) NewUpdate(ctx context.Context, key rmw.Key, lock string, fn rmw.UpdateFunc) *Call {
	c := s.newCall(ctx, key, lock)
	c.fn = fn
	return c
}

// UpdateUnderLock calls fn under the lock, and writes its value.
func (c *Call) UpdateUnderLock() (rmw.Result, error) {
	c.queues.join(c)
	return c.goOn()
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
	c.queues.gate.BeginFn()
	defer func() {
		c.queues.gate.EndFn()
		if !returned {
			c.held.End(nil)
			abandon(c)
		}
	}()
	c.Attempt.call(c.ctx, c.held)
	returned = true
}

// UpdateNested is an Update within a critical section of the same lock: the lock is held,
// and this goroutine reads, calls fn and commits until the guard lets a commit through.
func (c *Call) UpdateNested(outer *lease.Context) (rmw.Result, error) {
	given, err := c.queues.values.Read(c.ctx, c.key)
	if err != nil {
		return c.answerAlone("read", err)
	}
	for c.given = given; ; {
		if !c.callAlone(outer.Nested(c.ctx), func(*Call) {}) {
			return c.answerAlone("", nil)
		}
		if answered, err := c.CommitAlone(); answered {
			return c.answerAlone("commit", err)
		}
	}
}

// callAlone calls fn with the ctx held, on a value that no other call waits for. It reports
// whether there is something to commit.
func (c *Call) callAlone(held *lease.Context, abandon func(*Call)) (writes bool) {
	c.attempts++
	c.held = held
	c.callFn(abandon)
	return c.err == nil && c.wrote
}

// CommitAlone writes the value of fn if the key still holds the value that fn was given. No other
// call depends on this commit. It reports whether the call is answered: if not, fn must run again.
func (c *Call) CommitAlone() (answered bool, err error) {
	res, err := c.queues.values.Commit(c.ctx, c.request())
	switch {
	case err != nil:
		return true, err
	case !res.Stored:
		c.emit(event.Conflicted, 0, nil)
		return c.refused(res.Now)
	case res.Now.Exists():
		c.rebase(res.Now)
	}
	return true, nil
}

// refused has fn run again on the value that the key holds now, unless the call is answered by an
// error.
func (c *Call) refused(now rmw.Value) (answered bool, err error) {
	switch c.given = now; {
	case c.held.Overdue() != nil:
		return true, c.held.Overdue()
	case c.attempts >= c.queues.options.MaxAttempts:
		return true, errTooMany(c.attempts)
	}
	return false, nil
}

// answerAlone returns the answer of a call that commits alone. err is the error of op, if that
// failed.
func (c *Call) answerAlone(op string, err error) (rmw.Result, error) {
	if err != nil {
		c.err = c.fail(op, redisx.Blame(c.ctx, err))
	}
	if c.err != nil {
		return c.failure(), c.unknown(c.err)
	}
	return c.success(), nil
}

// commitOrphaned commits a call that lost the lock while fn ran: the guard still tells
// whether fn's value is right. It reports whether the call is answered: if not, it waits for the
// lock again.
func (c *Call) commitOrphaned() (answered bool) {
	answered, err := c.tryOrphaned()
	if answered {
		c.result, c.err = c.answerAlone("commit", err)
		return true
	}
	c.queues.join(c)
	return false
}

// tryOrphaned writes the value of fn if the key still holds the value that fn was given. If fn
// wants nothing written, it compares only.
func (c *Call) tryOrphaned() (answered bool, err error) {
	if c.err != nil && (c.ctx.Err() != nil || errors.Is(c.err, rmw.ErrLockLost)) {
		return true, nil
	}
	if c.wrote {
		if !c.request().Whole() {
			// fn may have been given the value of an earlier call, and that commit was refused since,
			// so that all of it is compared.
			c.reads = driver.ReadSet{}
		}
		return c.CommitAlone()
	}
	now, err := c.queues.values.Read(c.ctx, c.key)
	switch {
	case c.err == nil && err != nil:
		return true, err
	case err != nil || now.Equal(c.given):
		return true, nil
	}
	return c.refused(now)
}
