package lockupdate

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// An outage is a time in which nothing can be sent: connections are refused, or the
// breaker is open. Commands that were not sent wait for its end, up to
// Config.MaxOutage. A command that may have been sent is never sent again for it.

// unreached reports whether a command that failed with err waits for the store: it
// was certainly not sent, and another try may reach the store.
func (s *Store) unreached(err error) bool {
	if err == nil || errors.Is(err, rmw.ErrOutcomeUnknown) || s.cfg.MaxOutage < 0 || s.breaker.cb == nil {
		return false
	}
	var op *net.OpError
	return errors.Is(err, errBroken) || errors.As(err, &op) && op.Op == "dial"
}

// outage is one wait for the store.
type outage struct {
	since time.Time // when the first command was tried that could not be sent
	tries int
}

// failed notes that a command was tried at sent and could not be sent.
func (o *outage) failed(sent time.Time) {
	if o.tries++; o.tries == 1 {
		o.since = sent
	}
}

// left returns for how long a call that began at began may still wait.
func (o *outage) left(s *Store, began time.Time) time.Duration {
	if began.Before(o.since) {
		began = o.since
	}
	return s.cfg.MaxOutage - time.Since(began)
}

// outlast calls send until it reaches the store, or the outage has lasted for
// MaxOutage; send returns the error of a command. An error of outlast means that
// nothing was sent: ctx has ended or the Store was closed.
func (s *Store) outlast(ctx context.Context, o *outage, send func() error) error {
	for {
		sent := time.Now()
		if !s.unreached(send()) {
			return nil
		}
		o.failed(sent)
		left := o.left(s, o.since)
		if left <= 0 {
			return nil
		}
		over, pause := s.breaker.nextTry(o.tries)
		t := time.NewTimer(min(pause, left))
		select {
		case <-t.C:
		case <-over:
		case <-ctx.Done():
		case <-s.gate.Closing:
		}
		t.Stop()
		switch {
		case ctx.Err() != nil:
			return redisx.Because(rmw.ErrUnavailable, endOf(ctx))
		case s.gate.Closed():
			return rmw.ErrClosed
		}
	}
}

// awaitStore has the line wait after an acquire that could not be sent. It refuses
// the calls that have waited for MaxOutage, and those that never wait.
func (t *tenure) awaitStore(o *outage, err error) {
	o.failed(t.sent)
	err = redisx.Blame(context.Background(), err)
	t.mu.Lock()
	t.away = err
	t.mu.Unlock()
	t.refuse("", err, func(u *update) bool { return u.noWait || o.left(t.Store, u.arrived) <= 0 })
	if first := t.head(); first != nil { // the others came later
		over, pause := t.breaker.nextTry(o.tries)
		t.restUntil(over, min(pause, o.left(t.Store, first.arrived)))
	}
}
