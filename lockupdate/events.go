package lockupdate

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
)

// EventKind is what an [Event] tells of.
type EventKind uint8

// What can happen to the locks and updates of a Store.
const (
	EventAcquired   EventKind = iota // a lock was taken from the server; Took is how long that took
	EventWaited                      // an update or lock has its turn after waiting for others; Took is for how long
	EventPolled                      // a lock was asked for, and is another process's
	EventRenewed                     // leases were prolonged; N is how many
	EventLate                        // a renewal failed; Err is why, and it is tried again
	EventLost                        // a lease is lost; Err is why
	EventConflicted                  // the guard refused a commit, and N updates run again
	EventCombined                    // N updates were written by one commit
	EventUnknown                     // an update ended in rmw.ErrOutcomeUnknown; Err is that
	eventKinds
)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{"acquired", "waited", "polled", "renewed", "late", "lost", "conflicted", "combined", "unknown"}
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

// Stats counts what has happened since the Store was made, and what is the case now.
type Stats struct {
	Acquired   uint64 // locks taken from the server
	Waited     uint64 // updates and locks that had to wait for others
	Polled     uint64 // attempts that found a lock taken
	Renewed    uint64 // leases prolonged
	Late       uint64 // renewals that failed, and were tried again
	Lost       uint64 // leases lost
	Conflicted uint64 // commits that the guard refused
	Combined   uint64 // updates that were written along with another's commit
	Unknown    uint64 // updates that ended in rmw.ErrOutcomeUnknown

	Held   int  // leases, now
	Broken bool // the circuit breaker is open: the store does not answer, and calls wait or fail; see Config.MaxOutage
}

// String returns the counts in one line, for logs.
func (s Stats) String() string {
	return fmt.Sprintf("acquired=%d waited=%d polled=%d renewed=%d late=%d lost=%d conflicted=%d combined=%d unknown=%d held=%d broken=%t",
		s.Acquired, s.Waited, s.Polled, s.Renewed, s.Late, s.Lost, s.Conflicted, s.Combined, s.Unknown, s.Held, s.Broken)
}

// Stats returns a snapshot. It is cheap, and its numbers need not be of the very same
// moment.
func (s *Store) Stats() Stats {
	n := func(k EventKind) uint64 { return s.counts[k].Load() }
	return Stats{
		Acquired: n(EventAcquired), Waited: n(EventWaited), Polled: n(EventPolled),
		Renewed: n(EventRenewed), Late: n(EventLate), Lost: n(EventLost),
		Conflicted: n(EventConflicted), Combined: n(EventCombined), Unknown: n(EventUnknown),
		Held: s.watchdog.held(), Broken: s.breaker.open(),
	}
}

type counts [eventKinds]atomic.Uint64

// note counts an event and tells whoever wants to know. No lock may be held.
func (s *Store) note(e Event) {
	e.Err = redisx.WithoutArguments(e.Err)
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
