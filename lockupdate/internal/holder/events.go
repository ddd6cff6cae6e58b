package holder

import (
	"errors"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// waitReport tells the Observer of a wait that takes longer than lock.WaitingAfter.
type waitReport struct {
	call  *Call
	began time.Time
	timer *time.Timer
	told  sync.WaitGroup
}

// beginWait returns nil without an Observer.
func (c *Call) beginWait() *waitReport {
	if !c.queues.options.Observed {
		return nil
	}
	w := &waitReport{call: c, began: time.Now()}
	w.told.Add(1)
	w.timer = time.AfterFunc(lock.WaitingAfter, w.tell)
	return w
}

func (w *waitReport) tell() {
	defer w.told.Done()
	w.call.emitCall(event.Waiting, 0, nil)
}

// end tells the end of the wait, if its begin was told. err is why the call has no lock.
func (w *waitReport) end(err error) {
	if w == nil || w.timer.Stop() {
		return
	}
	w.told.Wait()
	w.call.emitCall(event.WaitEnded, time.Since(w.began), err)
}

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
