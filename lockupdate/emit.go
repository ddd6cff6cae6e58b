package lockupdate

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/unwatch/unwatch/internal/callback"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// events counts and logs the events of a Store, and calls its callbacks.
type events struct {
	callbacks
	counts [event.Kinds]atomic.Uint64
	logger *slog.Logger
}

// emit counts, publishes and logs an event.
func (s *events) emit(e event.Event) {
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
	if s.logger == nil || !s.logger.Enabled(e.Ctx, slog.LevelDebug) {
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
	s.logger.LogAttrs(e.Ctx, slog.LevelDebug, "lockupdate: "+name, attrs...)
}

// publish tells the Observer of events of locks, and OnEvent of the others. It returns the name of
// the event's kind.
func (s *events) publish(e event.Event) (name string) {
	if e.Kind >= event.Waited {
		s.event.Call(e)
		return EventKind(e.Kind - event.Waited).String()
	}
	s.lock.Call(e)
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
