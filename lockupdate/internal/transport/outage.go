package transport

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Outage is a time in which nothing can be sent: connections are refused, or the circuit
// breaker is open. Commands that were not sent wait for its end, up to Options.MaxOutage.
// A command that may have been sent is never sent again for it.
type Outage struct {
	since time.Time // when the first command was tried
	tries int
}

// Unreached reports whether a command that failed with err was certainly not sent, and
// another try may reach the store.
func (t *Transport) Unreached(err error) bool {
	if err == nil || errors.Is(err, rmw.ErrOutcomeUnknown) || t.options.MaxOutage < 0 || t.breaker.cb == nil {
		return false
	}
	var op *net.OpError
	return errors.Is(err, errCircuitOpen) || errors.As(err, &op) && op.Op == "dial"
}

// Failed records that a command was tried at sent and could not be sent.
func (o *Outage) Failed(sent time.Time) {
	if o.tries++; o.tries == 1 {
		o.since = sent
	}
}

// Active reports whether a command could not be sent.
func (o *Outage) Active() bool { return o.tries > 0 }

// Left returns how long a call that began at began may still wait for the end of o.
func (t *Transport) Left(o *Outage, began time.Time) time.Duration {
	if began.Before(o.since) {
		began = o.since
	}
	return t.options.MaxOutage - time.Since(began)
}

// NextTry returns when to send again: after pause, or as soon as the circuit breaker
// closes, if closed is not nil. An open breaker lets one of the next commands pass as a
// try of its own, and refuses the others.
func (t *Transport) NextTry(o *Outage) (closed <-chan struct{}, pause time.Duration) {
	b := t.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened.IsZero() {
		return nil, RetryDelay.Delay(o.tries, Jitter())
	}
	// gobreaker lets a try pass only after the end of its pause.
	if pause = time.Until(b.opened.Add(OpenFor)) + time.Millisecond; pause <= 0 {
		pause = OpenFor / 4 // the try of another call is in flight
	}
	return b.closed, pause
}

// await waits for the next try. It returns false if there is none: with an error if ctx
// or the Store ended, without one if the outage has lasted for MaxOutage.
func (t *Transport) await(ctx context.Context, o *Outage) (again bool, err error) {
	left := t.Left(o, o.since)
	if left <= 0 {
		return false, nil
	}
	closed, pause := t.NextTry(o)
	timer := time.NewTimer(min(pause, left))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closed:
	case <-ctx.Done():
	case <-t.gate.Closing:
	}
	switch {
	case ctx.Err() != nil:
		return false, redisx.Because(rmw.ErrUnavailable, redisx.EndOf(ctx))
	case t.gate.Closed():
		return false, rmw.ErrClosed
	}
	return true, nil
}
