package holder

import (
	"errors"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// emitCall reports an event of lock.EventKind.
func (c *Call) emitCall(kind event.Kind, took time.Duration, err error) {
	c.queues.emit(event.Event{Kind: kind, Lock: c.lock, N: 1, Took: took, Err: err, Ctx: c.ctx, Name: c.key.Name})
}

// emitRefused reports a call that ended without the lock.
func (c *Call) emitRefused() {
	c.emitCall(event.Refused, time.Since(c.arrived), c.err)
}

func (c *Call) emitWaited() {
	if c.waited > 0 {
		c.queues.emit(event.Event{Kind: event.Waited, Lock: c.lock, N: 1, Took: c.waited})
	}
}

// unknown reports an update with an unknown outcome. An rmw.ErrOutcomeUnknown of fn
// itself does not count.
func (c *Call) unknown(err error) error {
	if c.wrote && errors.Is(err, rmw.ErrOutcomeUnknown) {
		c.queues.emit(event.Event{Kind: event.Unknown, Lock: c.lock, N: 1, Err: err})
	}
	return err
}
