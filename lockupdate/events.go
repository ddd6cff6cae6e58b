package lockupdate

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/callback"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events of a Store, beside those of locks; see [lock.EventKind].
const (
	EventWaited        EventKind = iota // an update or lock has its turn after waiting for others; Took is for how long
	EventPolled                         // a lock was asked for, and is another process's
	EventRenewed                        // leases were prolonged; N is how many
	EventRenewFailed                    // a renewal failed; Err is why, and it is tried again
	EventConflicted                     // the guard refused a commit, and N updates run again
	EventCombined                       // N updates were written by one commit
	EventUnknown                        // an update ended in rmw.ErrOutcomeUnknown; Err is that
	EventCircuitOpened                  // the circuit breaker opened, because the store does not answer; Err is the last error

	eventKinds
)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{"waited", "polled", "renewed", "renew failed", "conflicted", "combined", "unknown", "circuit opened"}
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

	ObserverPanics uint64 // calls of Config.Observer, OnEvent and BatchContext that did not return, or returned nil

	Held        int  // leases, now
	CircuitOpen bool // the circuit breaker is open: the store does not answer, and calls wait or fail; see Config.MaxOutage
}

// String returns the counts in one line, for logs.
func (s Stats) String() string {
	return fmt.Sprintf("acquired=%d waited=%d polled=%d renewed=%d renew_failures=%d lost=%d conflicted=%d combined=%d unknown=%d circuit_opened=%d observer_panics=%d held=%d circuit_open=%t",
		s.Acquired, s.Waited, s.Polled, s.Renewed, s.RenewFailures, s.Lost, s.Conflicted, s.Combined, s.Unknown, s.CircuitOpened,
		s.ObserverPanics, s.Held, s.CircuitOpen)
}

// Stats returns a snapshot. It is cheap, and its numbers need not be of the very same
// moment.
func (s *Store) Stats() Stats {
	n := func(k event.Kind) uint64 { return s.counts[k].Load() }
	return Stats{
		Acquired: n(event.Acquired), Waited: n(event.Waited), Polled: n(event.Polled),
		Renewed: n(event.Renewed), RenewFailures: n(event.RenewFailed), Lost: n(event.Lost),
		Conflicted: n(event.Conflicted), Combined: n(event.Combined), Unknown: n(event.Unknown),
		CircuitOpened:  n(event.CircuitOpened),
		ObserverPanics: s.callbacks.panics(),
		Held:           s.keeper.Len(), CircuitOpen: s.transport.CircuitOpen(),
	}
}

type counts [event.Kinds]atomic.Uint64

// emit counts, publishes and logs an event.
func (s *Store) emit(e event.Event) {
	e.Err = redisx.WithoutArguments(e.Err)
	n := e.N
	switch e.Kind {
	case event.Acquired: // counts locks, not the calls that one passes to
		if e.Ctx != nil {
			n = 0
		}
	case event.Conflicted: // counts commits, not updates
		n = 1
	case event.Combined: // the first would have had a commit anyway
		n--
	}
	s.counts[e.Kind].Add(uint64(max(n, 0)))
	switch {
	case e.Ctx != nil:
	case e.Kind < event.Waited: // no call has the lock
		return
	default:
		e.Ctx = context.Background()
	}
	name := s.publish(e)
	if s.cfg.Logger == nil || !s.cfg.Logger.Enabled(e.Ctx, slog.LevelDebug) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	for _, a := range [...]slog.Attr{
		slog.String("lock", e.Lock), slog.String("label", e.Label), slog.String("operation", rmw.OperationOf(e.Ctx)),
		slog.String("reason", string(e.Loss)), slog.Duration("took", e.Took),
	} {
		if !a.Value.Equal(slog.StringValue("")) && !a.Value.Equal(slog.DurationValue(0)) {
			attrs = append(attrs, a)
		}
	}
	if e.N != 1 {
		attrs = append(attrs, slog.Int("n", e.N))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	s.cfg.Logger.LogAttrs(e.Ctx, slog.LevelDebug, "lockupdate: "+name, attrs...)
}

// publish tells the Observer of events of locks, and OnEvent of the others. It returns the name of
// the event's kind.
func (s *Store) publish(e event.Event) (name string) {
	if e.Kind >= event.Waited {
		s.callbacks.event.Call(e)
		return EventKind(e.Kind - event.Waited).String()
	}
	s.callbacks.lock.Call(e)
	return lock.EventKind(e.Kind).String()
}

// callbacks are the functions of a Config that events call.
type callbacks struct {
	lock, event *callback.Func[event.Event]
	batch       *callback.Func[func()]
}

func newCallbacks(cfg Config) (c callbacks) {
	if cfg.Observer != nil {
		c.lock = callback.New("lockupdate: Config.Observer", cfg.Logger, func(e event.Event) {
			cfg.Observer(e.Ctx, lock.Event{
				Kind: lock.EventKind(e.Kind), Service: "redis", Lock: e.Name, Label: e.Label, Took: e.Took, Err: e.Err, Loss: e.Loss,
			})
		})
	}
	if cfg.OnEvent != nil {
		c.event = callback.New("lockupdate: Config.OnEvent", cfg.Logger, func(e event.Event) {
			cfg.OnEvent(Event{EventKind(e.Kind - event.Waited), e.Lock, e.Ctx, e.Label, e.N, e.Took, e.Err})
		})
	}
	c.batch = callback.New("lockupdate: Config.BatchContext", cfg.Logger, func(do func()) { do() })
	return c
}

// panics returns how often a function did not return.
func (c callbacks) panics() uint64 { return c.lock.Panics() + c.event.Panics() + c.batch.Panics() }

// batchContext is Config.BatchContext for a transport. If it fails, the commands have a ctx without values.
func (c callbacks) batchContext(cfg Config) func(callers []context.Context) (context.Context, func(error)) {
	if cfg.BatchContext == nil {
		return nil
	}
	return func(callers []context.Context) (context.Context, func(error)) {
		var ctx context.Context
		var end func(error)
		if !c.batch.Call(func() {
			if ctx, end = cfg.BatchContext(callers); ctx == nil || end == nil {
				panic("it returned a nil ctx or a nil function")
			}
		}) {
			return context.Background(), func(error) {}
		}
		return context.WithoutCancel(ctx), func(err error) { c.batch.Call(func() { end(err) }) }
	}
}
