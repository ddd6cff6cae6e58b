package transport

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Options tune a Transport.
type Options struct {
	NoBreaker    bool
	MaxWait      time.Duration // how long a call waits for replies to commands that only read, or are repeated; 0: no limit
	MaxOutage    time.Duration // how long a call waits for a store that cannot be reached; negative: not at all
	WaitForReply bool          // callers send themselves, and see the end of their ctx between flushes only
	MaxAttempts  int           // how often a Peek without Lua, or a token without Lua, starts again

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
