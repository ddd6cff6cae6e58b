package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/holder"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/several"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// Commands is the part of a client that a Store needs: a way to send one command, and a
// way to send several in one plain pipeline. *redis.Client, *redis.ClusterClient
// and redis.UniversalClient have it.
//
// All that is ever sent through it has exactly one key; see [Config.RequiredCommands].
type Commands interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Store is an [rmw.Store] over single-key scripts. It is safe for concurrent use.
// Make one per client, not one per call, and Close it before the client.
type Store struct {
	rdb       Commands
	cfg       Config
	invalid   error // returned by every call if the Config cannot work
	gate      *redisx.Gate
	transport *transport.Transport
	values    *values.Values
	keeper    *lease.Keeper
	queues    *holder.Queues
	several   *several.Line
	events    events
}

var (
	_ rmw.Store      = (*Store)(nil)
	_ rmw.Peeker     = (*Store)(nil)
	_ rmw.Transactor = (*Store)(nil)
	_ lock.Locker    = (*Store)(nil)
	_ lock.Checker   = (*Store)(nil)
	_ lock.Inspector = (*Store)(nil)
)

// New returns a Store that sends through rdb. A Config that cannot work, or a nil
// rdb, shows as an [rmw.ErrInvalid] from every call; see [Config.Validate]. So do two
// clients of go-redis:
//   - an AutoPipeliner with FullDuplex: a hook cannot refuse one of its commands without
//     failing those of others, which may have been executed;
//   - a Ring: while a server does not answer, a Ring sends its keys to another server.
//     When the server is back, the updates and locks of that time are lost.
//
// A wrapper that hides such a client in a field is not recognized.
// rdb, shows as an [rmw.ErrInvalid] from every call; see [Config.Validate]. So does an
// AutoPipeliner of go-redis with FullDuplex: a hook cannot refuse one of its commands
// without failing those of others, which may have been executed.
//
// New adds a hook to a *redis.Client, or to the nodes of a *redis.ClusterClient: it gives up a new connection that a
// full server has refused, so that a commit is not sent over it. The hook stays when the Store is closed.
func New(rdb Commands, cfg Config) *Store {
	s := &Store{rdb: rdb, cfg: cfg.withDefaults(), invalid: cfg.Validate(), gate: redisx.NewGate()}
	s.events.callbacks, s.events.logger = newCallbacks(cfg), cfg.Logger
	if redisx.IsNil(rdb) {
		s.invalid = errors.Join(s.invalid, errNoClient)
	} else {
		s.invalid = errors.Join(s.invalid, redisx.CheckClient("lockupdate.New", "", rdb))
	}
	redisx.GuardHandshakes(rdb)
	cfg = s.cfg
	maxOutage := cfg.MaxOutage
	if cfg.MaxWait > 0 {
		maxOutage = min(maxOutage, cfg.MaxWait)
	}
	s.transport = transport.New(rdb, driver.New(driver.Options{
		Kind: driver.Kind(cfg.Commit), MasterReads: cfg.MasterReads, NotifyRedisson: cfg.NotifyRedisson,
	}), s.gate, transport.Options{
		NoBreaker: cfg.NoBreaker, MaxOutage: maxOutage, MaxWait: cfg.MaxWait, WaitForReply: cfg.WaitForReply,
		BatchContext:  s.events.batchContext(cfg),
		CircuitOpened: func(err error) { s.events.emit(event.Event{Kind: event.CircuitOpened, N: 1, Err: err}) },
	})
	s.values = values.New(s.transport, cfg.MaxAttempts, func(ctx context.Context, key rmw.Key, took time.Duration) {
		s.emitOf(ctx, event.Event{Kind: event.Sealed, N: 1, Took: took}, key)
	})
	observed := cfg.Observer != nil || cfg.Logger != nil
	s.keeper = lease.NewKeeper(s.transport, s.values, s.gate, s.events.emit, lease.Options{
		Lease: cfg.Lease, Expiry: cfg.expiry(), MaxHold: cfg.MaxHold, Observed: observed,
	})
	s.queues = holder.NewQueues(s.transport, s.values, s.keeper, s.gate, s.events.emit, holder.Options{
		Expiry: cfg.expiry(), LockDelay: cfg.LockDelay, MaxWait: cfg.MaxWait, Linger: cfg.Linger, MaxAttempts: cfg.MaxAttempts,
		Poll: cfg.Poll, NoCombining: cfg.NoCombining, SoleWriter: cfg.SoleWriter, Observed: observed,
	})
	s.several = several.New(s.transport, s.values, s.gate, several.Options{
		Owner: s, MaxAttempts: cfg.MaxAttempts, MaxWait: cfg.MaxWait, MaxOutage: maxOutage, NoCombining: cfg.NoCombining,
		Emit: func(ctx context.Context, e several.Event, key rmw.Key, n int, err error) {
			kinds := [...]event.Kind{several.Conflicted: event.Conflicted, several.Combined: event.Combined, several.Unknown: event.Unknown}
			s.emitOf(ctx, event.Event{Kind: kinds[e], N: n, Err: err}, key)
		},
	})
	return s
}

// emitOf emits an event of a call for a key.
func (s *Store) emitOf(ctx context.Context, e event.Event, key rmw.Key) {
	e.Lock, e.Call = s.cfg.LockName(key.Name), event.Call{Ctx: ctx, Name: key.Name, Label: key.Label}
	s.events.emit(e)
}

var (
	errNoClient = fmt.Errorf("%w: lockupdate.New needs a client, not nil", rmw.ErrInvalid)
	errNoFn     = fmt.Errorf("%w: the function is nil", rmw.ErrInvalid)
)

// begin admits a call, which must leave the gate, or returns an error.
func (s *Store) begin(ctx context.Context, key rmw.Key) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.gate.Admit(ctx, key)
}

// beginValue is begin for a call that reads or writes a value.
func (s *Store) beginValue(ctx context.Context, key rmw.Key) error {
	if err := s.begin(ctx, key); err != nil {
		return err
	}
	err := s.transport.Driver.Supports(key.Kind)
	if err != nil {
		s.gate.Leave()
	}
	return err
}

// lockName returns the name of the lock of a key, or why it has none.
func (s *Store) lockName(key string) (string, error) {
	lock := s.cfg.LockName(key)
	if lock == "" || lock == key {
		return "", fmt.Errorf("%w: Config.LockName gives %.128q no lock of its own; use other names for keys than for locks", rmw.ErrInvalid, key)
	}
	return lock, nil
}

// Close refuses new calls, ends the wait of calls that poll for a lock (with
// [rmw.ErrClosed]), lets calls finish that are running fn, and returns when all their
// locks are released. The error tells of locks that could not be released, for
// instance because the client was closed first; they end with their lease. Do not
// call Close from an UpdateFunc: it would wait for itself. It may be called again.
//
// Close waits for fn and for held locks without a limit. After the last of them it waits at most
// 10 s for the client, which may never return from a call: the error then tells how many calls are
// left. A call that waits for the client ends at that moment too, unless its ctx cannot end or
// Config.WaitForReply is set.
func (s *Store) Close() error {
	err := s.gate.Close()
	if err != nil {
		err = fmt.Errorf("lockupdate: %w", err)
	}
	return errors.Join(err, s.queues.Unreleased())
}

// Read implements [rmw.Reader] with one round trip. The value comes from the
// master, whatever replicas a proxy reads from; but for [CommitVX], [CommitCAS] and
// Config.MasterReads, which need a proxy that reads from none.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	err := s.beginValue(ctx, key)
	if err == nil {
		defer s.gate.Leave()
		var v rmw.Value
		if v, err = s.values.Read(ctx, key); err == nil {
			return v, nil
		}
	}
	return rmw.Value{}, driver.Fail("read", key, 0, redisx.Blame(ctx, err))
}

// Peek implements [rmw.Peeker] with one round trip: a script, also with
// Config.MasterReads.
//
// Without Lua no command tells both. Then the expiry is asked for between two reads, in
// three round trips, until both show the same value: it had that expiry in between. A
// value that changes each time is an [rmw.ErrContended] after Config.MaxAttempts; one
// that changed and changed back counts as unchanged, as for the guard. And the
// expiry is told by a PTTL, which a proxy may send to a replica that is behind: this
// needs what Config.MasterReads promises, with every Commit of these.
func (s *Store) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	err := s.beginValue(ctx, key)
	if err == nil {
		defer s.gate.Leave()
		var v rmw.Value
		var left time.Duration
		if v, left, err = s.values.Peek(ctx, key); err == nil {
			return v, left, nil
		}
	}
	return rmw.Value{}, 0, driver.Fail("peek", key, 0, redisx.Blame(ctx, err))
}

// Stats returns a snapshot. It is cheap, and its numbers need not be of the very same
// moment.
func (s *Store) Stats() Stats {
	n := func(k event.Kind) uint64 { return s.events.counts[k].Load() }
	return Stats{
		Acquired: n(event.Acquired), Waited: n(event.Waited), Polled: n(event.Polled),
		Renewed: n(event.Renewed), RenewFailures: n(event.RenewFailed), Lost: n(event.Lost),
		Conflicted: n(event.Conflicted), Combined: n(event.Combined), Unknown: n(event.Unknown),
		CircuitOpened: n(event.CircuitOpened), Sealed: n(event.Sealed),
		ObserverPanics: s.events.panics(),
		Held:           s.keeper.Len(), CircuitOpen: s.transport.CircuitOpen(),
	}
}
