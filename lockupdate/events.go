package lockupdate

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events of a Store.
const (
	EventAcquired    = EventKind(event.Acquired)    // a lock was taken from the server; Took is how long that took
	EventWaited      = EventKind(event.Waited)      // an update or lock has its turn after waiting for others; Took is for how long
	EventPolled      = EventKind(event.Polled)      // a lock was asked for, and is another process's
	EventRenewed     = EventKind(event.Renewed)     // leases were prolonged; N is how many
	EventRenewFailed = EventKind(event.RenewFailed) // a renewal failed; Err is why, and it is tried again
	EventLost        = EventKind(event.Lost)        // a lease is lost; Err is why
	EventConflicted  = EventKind(event.Conflicted)  // the guard refused a commit, and N updates run again
	EventCombined    = EventKind(event.Combined)    // N updates were written by one commit
	EventUnknown     = EventKind(event.Unknown)     // an update ended in rmw.ErrOutcomeUnknown; Err is that
)

const eventKinds = EventKind(event.Kinds)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{"acquired", "waited", "polled", "renewed", "renew failed", "lost", "conflicted", "combined", "unknown"}
	if k < eventKinds {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is something that happened to a lock. It never holds a value.
type Event struct {
	Kind EventKind
	Lock string // its name; "" if the event is about several
	N    int    // how many; at least 1
	Took time.Duration
	Err  error
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

	Held        int  // leases, now
	CircuitOpen bool // the circuit breaker is open: the store does not answer, and calls wait or fail; see Config.MaxOutage
}

// String returns the counts in one line, for logs.
func (s Stats) String() string {
	return fmt.Sprintf("acquired=%d waited=%d polled=%d renewed=%d renew_failures=%d lost=%d conflicted=%d combined=%d unknown=%d held=%d circuit_open=%t",
		s.Acquired, s.Waited, s.Polled, s.Renewed, s.RenewFailures, s.Lost, s.Conflicted, s.Combined, s.Unknown, s.Held, s.CircuitOpen)
}

// Stats returns a snapshot. It is cheap, and its numbers need not be of the very same
// moment.
func (s *Store) Stats() Stats {
	n := func(k EventKind) uint64 { return s.counts[k].Load() }
	return Stats{
		Acquired: n(EventAcquired), Waited: n(EventWaited), Polled: n(EventPolled),
		Renewed: n(EventRenewed), RenewFailures: n(EventRenewFailed), Lost: n(EventLost),
		Conflicted: n(EventConflicted), Combined: n(EventCombined), Unknown: n(EventUnknown),
		Held: s.keeper.Len(), CircuitOpen: s.transport.CircuitOpen(),
	}
}

type counts [eventKinds]atomic.Uint64

// emit counts, publishes and logs an event.
func (s *Store) emit(internal event.Event) {
	e := Event{EventKind(internal.Kind), internal.Lock, internal.N, internal.Took, redisx.WithoutArguments(internal.Err)}
	n := e.N
	switch e.Kind {
	case EventConflicted: // counts commits, not updates
		n = 1
	case EventCombined: // the first would have had a commit anyway
		n--
	}
	s.counts[e.Kind].Add(uint64(max(n, 0)))
	if s.cfg.OnEvent != nil {
		s.cfg.OnEvent(e)
	}
	if s.cfg.Logger == nil || !s.cfg.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := make([]slog.Attr, 0, 4)
	if e.Lock != "" {
		attrs = append(attrs, slog.String("lock", e.Lock))
	}
	if e.N != 1 {
		attrs = append(attrs, slog.Int("n", e.N))
	}
	if e.Took != 0 {
		attrs = append(attrs, slog.Duration("took", e.Took))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelDebug, "lockupdate: "+e.Kind.String(), attrs...)
}
