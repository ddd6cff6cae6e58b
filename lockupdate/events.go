package lockupdate

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/eventtext"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events of a Store, beside those of locks; see [lock.EventKind].
const (
	EventWaited        EventKind = iota // an update or lock has its turn after waiting for others; Took is for how long
	EventPolled                         // a lock was asked for, and is another process's
	EventRenewed                        // leases were prolonged; N is how many
	EventRenewFailed                    // a renewal failed; Err is why, and it is tried again
	EventConflicted                     // a commit was refused, or another process ended an update; N run again
	EventCombined                       // N updates were written by one commit
	EventUnknown                        // an update ended in rmw.ErrOutcomeUnknown; Err is that
	EventCircuitOpened                  // the circuit breaker opened, because the store does not answer; Err is the last error
	EventSealed                         // a writer has waited for the end of another update that had sealed its key; Took is for how long

	eventKinds
)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{
		"waited", "polled", "renewed", "renew failed", "conflicted", "combined", "unknown", "circuit opened",
		"sealed",
	}
	if k < eventKinds {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is something that happened to updates and their locks. It never holds a value.
type Event struct {
	Kind  EventKind
	Lock  string          // its name on the server; "" if the event is about several
	Ctx   context.Context // of the call; context.Background() if the event is about several calls or none
	Label string          // rmw.Key.Label of the calls, or ""
	N     int             // how many; at least 1
	Took  time.Duration
	Err   error
}

// String returns the event in one line, for logs.
func (e Event) String() string {
	return eventtext.Line("lockupdate "+e.Kind.String(), e.Lock, e.Label, e.Err, "n", e.N, "took", e.Took)
}

// Stats has counters since the Store was made, and present states.
type Stats struct {
	Acquired      uint64 // locks taken from the server
	Waited        uint64 // updates and locks that had to wait for others
	Polled        uint64 // attempts that found a lock taken
	Renewed       uint64 // leases prolonged
	RenewFailures uint64 // renewals that failed, and were tried again
	Lost          uint64 // leases lost
	Conflicted    uint64 // commits that the guard refused
	Combined      uint64 // updates that were written along with another's commit
	Unknown       uint64 // updates that ended in rmw.ErrOutcomeUnknown
	CircuitOpened uint64 // outages that opened the circuit breaker
	Sealed        uint64 // waits of writers for the end of another update that had sealed the key

	ObserverPanics uint64 // calls of Config.Observer, OnEvent and BatchContext that did not return, or returned nil

	Held        int  // leases, now
	CircuitOpen bool // the circuit breaker is open: the store does not answer, and calls wait or fail; see Config.MaxOutage
}

// String returns the counts in one line, for logs.
func (s Stats) String() string {
	return fmt.Sprintf("acquired=%d waited=%d polled=%d renewed=%d renew_failures=%d lost=%d conflicted=%d combined=%d unknown=%d circuit_opened=%d sealed=%d observer_panics=%d held=%d circuit_open=%t",
		s.Acquired, s.Waited, s.Polled, s.Renewed, s.RenewFailures, s.Lost, s.Conflicted, s.Combined, s.Unknown, s.CircuitOpened, s.Sealed,
		s.ObserverPanics, s.Held, s.CircuitOpen)
}
