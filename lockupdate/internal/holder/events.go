package holder

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

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
