package holder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// join puts c into the queue of its lock; see joinLocked.
func (s *Queues) join(c *Call) bool {
	for {
		q := s.queueOf(c.lock)
		q.mu.Lock()
		if q.removed {
			q.mu.Unlock()
			continue
		}
		joined := q.joinLocked(c)
		q.mu.Unlock()
		return joined
	}
}

// joinLocked puts c at the end of the queue, or in front of it if the calls wait for c. It returns
// false if c would have to wait and must not.
func (q *waitQueue) joinLocked(c *Call) bool {
	h := q.holder
	if c.noWait && (q.first != nil || q.unlocked != nil || h != nil && !h.idleLocked()) {
		return false
	}
	c.queue = q
	c.taken = c.taken || q.unlocked != nil || h != nil && (h.detachedLocked() || h.lease != nil || h.polling)
	switch {
	case q.unlocked == c:
		q.unlocked = nil
		q.pushFrontLocked([]*Call{c})
		if h != nil {
			h.wakeLocked()
		}
	case q.first != nil || q.unlocked != nil || h != nil && h.busyLocked():
		if c.blockedSince = c.arrived; c.attempts > 0 {
			c.blockedSince = time.Now()
		}
		fallthrough
	default:
		c.setLocked(queued)
		q.pushLocked(c)
	}
	if h == nil {
		q.startLocked()
		return true
	}
	h.dispatchLocked()
	if c.state == queued && h.idleLocked() {
		h.wakeLocked()
	}
	return true
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
	closing, gaveUp := c.queues.gate.Closing, c.queues.gate.GaveUp
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
		case <-gaveUp:
			gaveUp = nil
		}
		if s := c.leave(why); s == answered || s == left {
			return s, reported
		}
	}
}

// leave ends the wait of the call, which then has its answer, unless it must go on: once
// its fn was called, only the end of its ctx ends it, or a Close that gives up.
func (c *Call) leave(why error) state {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	ended := c.ctx.Err() != nil
	// Config.MaxWait bounds the first wait for the lock, and Close ends the wait of calls before
	// their first fn.
	started := c.lease != nil || c.attempts > 0 && errors.Is(why, rmw.ErrClosed)
	if c.state == answered || !ended && !c.queues.gate.GivenUp() && (c.state != queued || started) {
		return c.state
	}
	if (c.state == running || c.state == orphaned) && c.waited > 0 { // fn was not called yet, and others held the lock
		why = redisx.Because(rmw.ErrContended, why)
	}
	op := c.op()
	switch h := c.queue.holder; c.state {
	case queued:
		c.queue.removeLocked(c)
		seen := c.taken || h == nil || h.detachedLocked() || h.lease != nil || h.polling // that the lock is taken
		switch {
		case h != nil && !h.detachedLocked() && h.outage != nil && ended:
			why = redisx.Because(rmw.ErrUnavailable, why)
		case h != nil && !h.detachedLocked() && h.outage != nil && errors.Is(why, rmw.ErrContended): // by MaxWait
			why = h.outage
		case errors.Is(why, rmw.ErrContended) && !seen: // by MaxWait
			why = transport.NoAnswer(c.queues.options.MaxWait)
		case ended && seen && !c.blockedSince.IsZero():
			why = redisx.Because(rmw.ErrContended, why)
		}
		if h != nil {
			h.wakeLocked()
		}
	case running:
		if h.detachedLocked() {
			h.attachLocked(h.resume)
			break
		}
		h.running = nil
		c.attempts--
		h.dispatchLocked()
		h.wakeLocked()
	case orphaned:
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
