package lockupdate

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Store is an [rmw.Store] over single-key scripts. It is safe for concurrent use.
// Make one per client, not one per call, and Close it before the client.
type Store struct {
	rdb      Commands
	dialect  dialect
	cfg      Config
	invalid  error // what every call returns if the Config cannot work
	owners   *owners
	gate     *redisx.Gate // calls, and what goes on behind them
	breaker  *breaker
	flights  *flights
	watchdog *watchdog
	holds    *holds
	counts   counts

	mu         sync.Mutex
	queues     map[string]*queue // by the lock's name
	unreleased error             // of releases that failed while closing
}

var _ rmw.Store = (*Store)(nil)

// tries is how often a command whose answer was lost is sent in all.
const tries = 3

// New returns a Store that sends through rdb. A Config that cannot work, or a nil
// rdb, shows as an [rmw.ErrInvalid] from every call; see [Config.Validate]. So does an
// AutoPipeliner of go-redis with FullDuplex: a hook cannot refuse one of its commands
// without failing those of others, which may have been executed.
func New(rdb Commands, cfg Config) *Store {
	s := &Store{
		rdb:     rdb,
		cfg:     cfg.withDefaults(),
		dialect: dialectOf(cfg),
		invalid: cfg.Validate(),
		owners:  newOwners(),
		gate:    redisx.NewGate(),
		holds:   &holds{of: map[string]time.Duration{}},
		queues:  map[string]*queue{},
	}
	s.breaker = newBreaker(s.cfg, s.sendUnattended)
	s.flights = &flights{fly: s.breaker.send}
	s.watchdog = newWatchdog(s)
	if redisx.IsNil(rdb) {
		s.invalid = errors.Join(s.invalid, errNoClient)
	} else if redisx.IsFullDuplex(rdb) {
		s.invalid = errors.Join(s.invalid, errFullDuplex)
	}
	return s
}

// begin admits a call, or says why not.
func (s *Store) begin(ctx context.Context, key rmw.Key) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.gate.Admit(ctx, key)
}

// Close refuses new calls, ends the wait of those that poll for a lock (with
// [rmw.ErrClosed]), lets those whose fn runs finish, and returns when every lock
// of theirs is released. The error tells of locks that could not be released, for
// instance because the client was closed first; they end with their lease. Do not
// call Close from an UpdateFunc: it would wait for itself. It may be called again.
func (s *Store) Close() error {
	s.gate.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unreleased
}

// Read implements [rmw.Reader] with one round trip. The value comes from the
// master, whatever replicas a proxy reads from; but for [CommitVX], [CommitCAS] and
// Config.MasterReads, which need a proxy that reads from none.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Value{}, fail("read", key, 0, err)
	}
	defer s.gate.Leave()
	if err := s.dialect.supports(key.Kind); err != nil {
		return rmw.Value{}, fail("read", key, 0, err)
	}
	v, err := s.read(ctx, key)
	if err != nil {
		return rmw.Value{}, fail("read", key, 0, redisx.Blame(ctx, err))
	}
	return v, nil
}

func (s *Store) read(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	err = s.look(ctx, func() *call { return s.dialect.read(key) }, func(c *call) (err error) {
		v, err = s.dialect.value(key.Kind, c)
		return err
	})
	return v, err
}

// look asks again when an answer was lost: looking twice harms nobody.
func (s *Store) look(ctx context.Context, ask func() *call, answer func(c *call) error) error {
	var o outage
	for try := 1; ; try++ {
		c := ask()
		if err := s.run(ctx, &o, c); err != nil {
			return err
		}
		err := answer(c)
		if redisx.OutcomeOf(err) != redisx.Unknown || try == tries {
			return err
		}
		if err := s.pause(ctx, try); err != nil {
			return err
		}
	}
}

// pause waits a little before something is sent again.
func (s *Store) pause(ctx context.Context, try int) error {
	return redisx.Sleep(ctx, retryDelay.Delay(try, jitter()))
}

// jitter is a random number in [0, 1).
func jitter() float64 { return rand.Float64() }

var retryDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 50 * time.Millisecond}
