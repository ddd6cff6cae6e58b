package transport

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Options tune a Transport.
type Options struct {
	NoBreaker    bool
	MaxWait      time.Duration // how long a call waits for replies to commands that only read, or are repeated; 0: no limit
	MaxOutage    time.Duration // how long a call waits for a store that cannot be reached; negative: not at all
	WaitForReply bool          // callers send themselves, and see the end of their ctx between flushes only

	BatchContext  func(callers []context.Context) (ctx context.Context, end func(error))
	CircuitOpened func(err error) // the circuit breaker has opened, after err
}

// Tries bounds how often a command is sent while its reply is lost.
const Tries = 3

// RetryDelay is the pause before such a command is sent again.
var RetryDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// Jitter is a random number in [0, 1).
func Jitter() float64 { return rand.Float64() }

// Outage is a time in which nothing can be sent: connections are refused, or the circuit
// breaker is open. Commands that were not sent wait for its end, up to Options.MaxOutage.
// A command that may have been sent is never sent again for it.
type Outage struct {
	since time.Time // when the first command was tried
	tries int
	began time.Time // when the call began to wait; zero: it has not
}

// Failed records that a command was tried at sent and could not be sent.
func (o *Outage) Failed(sent time.Time) {
	if o.tries++; o.tries == 1 {
		o.since = sent
	}
}

// Active reports whether a command could not be sent.
func (o *Outage) Active() bool { return o.tries > 0 }

// Once sends a command that must not be repeated, and others in the same flush. A wait ends with ctx, and
// the command does not. An error is an [rmw.ErrUnavailable] if the command was not sent and never will be, else an
// [rmw.ErrOutcomeUnknown]; after an error the commands must not be touched.
func (t *Transport) Once(ctx context.Context, c *driver.Command, also ...*driver.Command) error {
	c.Once = true
	values := ctx
	if ctx.Done() != nil {
		values = context.WithoutCancel(ctx)
	}
	ended := t.send(ctx, values, append([]*driver.Command{c}, also...))
	switch {
	case ended == nil:
		return nil
	case errors.As(ended, new(*notSent)):
		return redisx.Because(rmw.ErrUnavailable, errors.Unwrap(ended))
	}
	return redisx.Because(rmw.ErrOutcomeUnknown, errors.Unwrap(ended))
}

// UntilReached calls send until it fails for another reason than a store that cannot be reached, or until ctx, the
// Store or Options.MaxOutage ends.
func (t *Transport) UntilReached(ctx context.Context, send func() error) error {
	var o Outage
	for {
		sent := time.Now()
		err := send()
		if !t.Unreached(err) {
			return err
		}
		o.Failed(sent)
		if again, ended := t.await(ctx, &o); !again {
			return cmp.Or(ended, err)
		}
	}
}
