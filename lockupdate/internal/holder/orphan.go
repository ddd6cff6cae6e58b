package holder

import (
	"errors"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// UpdateNested is an Update within a critical section of the same lock: the lock is held,
// and this goroutine reads, calls fn and commits until the guard lets a commit through.
func (c *Call) UpdateNested(outer *lease.Context) (rmw.Result, error) {
	ctx := c.ctx
	given, err := c.queues.transport.Read(ctx, c.key)
	if err != nil {
		return c.failure(), c.fail("read", redisx.Blame(ctx, err))
	}
	for c.given = given; ; {
		c.attempts++
		held := outer.Nested(ctx)
		func() {
			defer held.End(nil) // also after a panic or runtime.Goexit
			c.call(ctx, held)
		}()
		switch {
		case c.err != nil:
			return c.failure(), c.err
		case !c.wrote:
			return c.success(), nil
		}
		res, err := c.commitAlone()
		switch {
		case err != nil:
			return c.failure(), c.unknown(c.fail("commit", redisx.Blame(ctx, err)))
		case res.Stored:
			return c.success(), nil
		case c.attempts >= c.queues.options.MaxAttempts:
			return c.failure(), c.fail("commit", rmw.ErrContended)
		}
		c.given = res.Now
	}
}

// commitAlone writes the value of fn if the key still holds the value that fn was given. No other
// call depends on this commit.
func (c *Call) commitAlone() (driver.CommitResult, error) {
	res, err := c.queues.transport.Commit(c.ctx, c.request())
	switch {
	case err == nil && res.Stored && res.Now.Exists():
		c.rebase(res.Now)
	case err == nil && !res.Stored:
		c.emit(event.Conflicted, 0, nil)
	}
	return res, err
}

// commitOrphaned commits a call that lost the lock while fn ran: the guard still tells
// whether fn's value is right. It returns false if the call waits for the lock again.
func (c *Call) commitOrphaned() (done bool) {
	stored, err := c.tryOrphaned()
	c.result = c.failure()
	switch {
	case err != nil:
	case stored:
		c.result = c.success()
	case c.held.Overdue() != nil:
		err = c.fail("commit", c.held.Overdue())
	case c.attempts >= c.queues.options.MaxAttempts:
		err = c.fail("commit", rmw.ErrContended)
	default:
		c.queue.mu.Lock()
		c.setLocked(queued)
		c.queue.mu.Unlock()
		c.queues.join(c)
		return false
	}
	c.err = err
	return true
}

// tryOrphaned writes the value of fn if the key still holds the value that fn was given. If fn
// wants nothing written, it compares only.
func (c *Call) tryOrphaned() (stored bool, err error) {
	if c.err != nil && (c.ctx.Err() != nil || errors.Is(c.err, rmw.ErrLockLost)) {
		return false, c.err
	}
	if !c.wrote {
		now, err := c.queues.transport.Read(c.ctx, c.key)
		switch {
		case c.err != nil && (err != nil || now.Equal(c.given)):
			return false, c.err
		case err != nil:
			return false, c.fail("commit", redisx.Blame(c.ctx, err))
		}
		return now.Equal(c.given), nil
	}
	if !c.request().Whole() {
		// fn may have been given the value of an earlier call, and that commit was refused since,
		// so that all of it is compared.
		c.reads = driver.ReadSet{}
	}
	res, err := c.commitAlone()
	if err != nil {
		return false, c.fail("commit", redisx.Blame(c.ctx, err))
	}
	return res.Stored, nil
}
