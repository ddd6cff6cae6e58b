package shadow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

var errEnded = fmt.Errorf("%w: the shadow was closed or killed", rmw.ErrClosed)

// isClosed reports whether nothing more is taken in.
func (e *engine) isClosed() bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	return e.closed
}

// drain waits until nothing is in flight.
func (e *engine) drain(ctx context.Context) error {
	for {
		e.book.mu.Lock()
		if e.book.health.inFlight == 0 {
			e.book.mu.Unlock()
			return nil
		}
		if e.idle == nil {
			e.idle = make(chan struct{})
		}
		idle := e.idle
		e.book.mu.Unlock()
		e.free.hurry()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return errEnded
		}
	}
}

// kill drops all that waits, and ends what is on its way.
func (e *engine) kill() {
	e.book.mu.Lock()
	e.closed = true
	e.book.mu.Unlock()
	e.dropAll.Store(true)
	e.cancel()
	e.ending.Do(func() {
		go func() {
			e.running.Wait()
			e.sweep()
			close(e.ended)
		}()
	})
}

// sweep counts out what is left when the goroutines have ended.
func (e *engine) sweep() {
	e.book.mu.Lock()
	batch := e.takeAll()
	e.book.mu.Unlock()
	for _, it := range batch {
		e.hand(it) // nothing is compared any more: it counts it out
	}
	for len(e.seeds) > 0 {
		e.pass(<-e.seeds, report.Seeded, report.DroppedMode)
	}
	for len(e.races) > 0 {
		e.pass(<-e.races, report.Free, report.DroppedMode)
	}
	e.free.sweep()
	e.lockstep.sweep()
}

// close ends the goroutines, within Config.CloseTimeout.
func (e *engine) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), e.book.cfg.CloseTimeout)
	defer cancel()
	e.book.mu.Lock()
	e.closed = true // and so what comes late is dropped
	e.book.mu.Unlock()
	drained := e.drain(ctx)
	e.kill()
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case <-e.ended:
	case <-grace.C:
		return errors.New("shadow: a call of the hidden path does not end although its ctx has")
	}
	if drained != nil {
		return fmt.Errorf("shadow: closed before all calls were compared: %w", drained)
	}
	return nil
}
