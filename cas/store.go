package cas

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Client is the part of a client that a Store needs. *redis.Client, *redis.ClusterClient
// and redis.UniversalClient have it.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
	TxPipeline() redis.Pipeliner
}

// Store is an [rmw.Store] over WATCH, MULTI and EXEC. It is safe for concurrent
// use. Close it before the client; it holds nothing but what calls that were
// given up still have on the way, which ends with go-redis' read timeout.
type Store struct {
	rdb     Client
	cfg     Config
	invalid error
	cluster atomic.Bool  // keys of one WATCH must have one slot
	gate    *redisx.Gate // calls, and transactions they left behind
	old     atomic.Bool  // the server has no SET … KEEPTTL
	watches atomic.Bool  // a key could be watched
	fields  fieldExpiry
	keeps   atomic.Bool // it is known whether the server has SET … KEEPTTL

	decisions decisions
}

var _ rmw.Store = (*Store)(nil)

// tries bounds the attempts while connections break and nothing is written.
const tries = 3

// New returns a Store that sends through rdb. A Config that cannot work or a nil rdb shows
// as an [rmw.ErrInvalid] from every call; see [Config.Validate]. So do two clients of
// go-redis: an AutoPipeliner with FullDuplex, whose commands no hook can refuse, and a
// Ring, which moves the keys of a server to another one while it does not answer, and
// then forgets their updates. A wrapper that hides a Ring is not recognized.
func New(rdb Client, cfg Config) *Store {
	s := &Store{rdb: rdb, cfg: cfg.withDefaults(), invalid: cfg.Validate(), gate: redisx.NewGate()}
	s.decisions.init()
	if redisx.IsNil(rdb) {
		s.invalid = errors.Join(s.invalid, fmt.Errorf("%w: cas.New needs a client, not nil", rmw.ErrInvalid))
	} else {
		s.invalid = errors.Join(s.invalid, redisx.CheckClient("cas.New", "", rdb))
		_, cluster := rdb.(interface{ Options() *redis.ClusterOptions })
		s.cluster.Store(cluster)
	}
	return s
}

func (s *Store) begin(ctx context.Context, key rmw.Key) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.gate.Admit(ctx, key)
}

// Close refuses new calls and returns when all others have ended and every
// connection they used is unwatched. It may be called again. Do not call it from an
// UpdateFunc: it would wait for itself.
//
// Close waits for fn without a limit. After the last fn it waits at most 10 s for the client, which
// may never return from a call: then the error tells how many calls are left.
func (s *Store) Close() error {
	if err := s.gate.Close(); err != nil {
		return fmt.Errorf("cas: %w", err)
	}
	return nil
}

func fail(op string, key rmw.Key, attempts int, err error) error {
	return redisx.Fail("cas", op, key, attempts, err)
}

// Read implements [rmw.Reader] with one round trip, a GET or an HGETALL.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Value{}, fail("read", key, 0, err)
	}
	defer s.gate.Leave()
	for o := (redisx.Outage{}); ; {
		r := newReading(ctx, key, false)
		if err := s.gate.Await(ctx, func() {
			r.ask(ctx, s.rdb)
			redisx.DropIfElsewhere(ctx, s.rdb, key.Name, false, r.cmd.Err())
		}); err != nil {
			return rmw.Value{}, fail("read", key, 0, err)
		}
		v, err := r.value()
		if errors.Is(err, rmw.ErrWrongKind) {
			var open bool
			if v, open, err = s.shown(ctx, key, err); open {
				continue
			}
		}
		switch {
		case err == nil:
			return v, nil
		case s.gate.Closed() || !o.Another(ctx, err):
			return rmw.Value{}, fail("read", key, 0, o.EndOf(ctx, err))
		}
	}
}

// Update implements [rmw.Updater]; the package doc tells how. fn runs on the
// caller's goroutine, without any lock.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	defer s.gate.Leave()
	if fn == nil {
		return rmw.Result{}, fail("update", key, 0, fmt.Errorf("%w: the UpdateFunc is nil", rmw.ErrInvalid))
	}
	if err := rmw.CheckTx(ctx, s, key.Name); err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	u := &update{call: call{Store: s, key: key, again: "does fn write this key itself, instead of returning the value?"}, fn: fn}
	err := u.run(ctx, u.attempt)
	u.res.Attempts, u.res.Waited = u.attempts, u.waited
	return u.res, err
}

// update is one call of Update.
type update struct {
	call

	fn  rmw.UpdateFunc
	res rmw.Result
}
