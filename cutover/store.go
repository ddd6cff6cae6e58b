package cutover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Side is one of the two stores.
type Side struct {
	// Store reads and updates: a lockupdate.Store or a cas.Store over Redis.
	Store rmw.Store
	// Redis is the same client. It sends the scripts of a move.
	Redis Commands
}

// Commands is the part of a client that a move needs. *redis.Client, *redis.ClusterClient
// and redis.UniversalClient have it. Each command that is sent has exactly one key.
type Commands interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// RequiredCommands returns the names of the commands that the script of a move calls. An ACL has to
// allow them, EVAL, EVALSHA, the commands of both Stores, and WAIT with Config.Replicas or Config.NewReplicas.
// HPTTL is a command of Redis 7.4 and Valkey 9: an ACL of an older server leaves it out.
func RequiredCommands() []string {
	return []string{
		"DEL", "EXISTS", "GET", "HGETALL", "HLEN", "HMSET", "HPTTL", "LRANGE", "LSET", "PEXPIRE", "PTTL", "RPUSH", "SET", "STRLEN",
		"TIME", "TYPE",
	}
}

// Source tells the present [Stage]. It is asked for each call, so it must answer from memory. Its
// error fails the call, so a Source that cannot learn the present Stage returns the last one.
type Source interface {
	Stage(ctx context.Context) (Stage, error)
}

// Config tunes a [Store]. The zero Config follows keys that have moved, and moves none.
type Config struct {
	// Stage says which keys move. Default: Stage{}, which is Follow.
	Stage Source
	// MaxSeal is the size in bytes above which a value does not move: its seal keeps the server
	// busy, for 3 ms per MiB of a string. The key stays where it is, and serves. Default 1 MiB.
	MaxSeal int
	// Replicas is how many replicas of the old store must have a marker before a process relies on it at
	// the new store: a seal before its value moves on, and a marker before its key is sent back. The
	// process asks with WAIT, which costs a round trip per move, so the old store must be reached
	// without a proxy. With all replicas, no failover of the old store makes a key have two homes.
	// Add no further replica while an isolated old primary still serves: see docs/cutover.md.
	// With fewer, one that forgets a seal does. If the replicas do not answer within a second, the
	// call fails with [rmw.ErrUnavailable]. Default 0: no replicas, or none that takes over.
	Replicas int
	// NewReplicas is the same for the new store: how many replicas must have a reservation before its
	// key is sealed, and a seal of a way back before its value moves on. Without it, a failover of the
	// new store can make a key look deleted, or have two homes. Proxies refuse WAIT; a Redis Cluster
	// does not. Default 0.
	NewReplicas int
	// MaxAttempts bounds how often one call looks at both stores. Then it fails with
	// [rmw.ErrContended]. Default 100.
	MaxAttempts int
	// Heartbeat, if set, reports the pauses and the running operate.Sweep of this Store to the census.
	// Several Stores of a process may share it.
	Heartbeat *Heartbeat
}

// Store is an [rmw.Store] over two stores. It is safe for concurrent use.
type Store struct {
	stores  [2]rmw.Store
	mover   *mover.Mover
	cfg     Config
	invalid error
	gate    *redisx.Gate
	stays   stays
}

var (
	_ rmw.Store      = (*Store)(nil)
	_ rmw.Peeker     = (*Store)(nil)
	_ rmw.Transactor = (*Store)(nil)
	_ io.Closer      = (*Store)(nil)
)

// New returns a Store that moves keys between old and new. A Side or a Config that cannot work
// shows as an [rmw.ErrInvalid] from every call. So do a Ring and an AutoPipeliner with FullDuplex of
// go-redis, unless a wrapper hides them.
func New(old, new Side, cfg Config) *Store {
	if cfg.Stage == nil {
		cfg.Stage = Stage{}
	}
	cfg.MaxSeal, cfg.MaxAttempts = cmp.Or(cfg.MaxSeal, 1<<20), cmp.Or(cfg.MaxAttempts, 100)
	s := &Store{stores: [2]rmw.Store{old.Store, new.Store}, cfg: cfg, gate: redisx.NewGate()}
	switch {
	case old.Store == nil || new.Store == nil || redisx.IsNil(old.Redis) || redisx.IsNil(new.Redis):
		s.invalid = fmt.Errorf("%w: cutover.New needs a Store and a client of both sides, not nil", rmw.ErrInvalid)
	case cfg.MaxSeal < 0 || cfg.MaxAttempts < 0 || cfg.Replicas < 0 || cfg.NewReplicas < 0:
		s.invalid = fmt.Errorf("%w: cutover.Config: MaxSeal is %d, MaxAttempts %d, Replicas %d, NewReplicas %d; "+
			"use positive numbers, or 0 for the defaults", rmw.ErrInvalid, cfg.MaxSeal, cfg.MaxAttempts, cfg.Replicas, cfg.NewReplicas)
	default:
		s.invalid = cmp.Or(redisx.CheckClient("cutover.New", " for the old store", old.Redis),
			redisx.CheckClient("cutover.New", " for the new store", new.Redis))
	}
	s.mover = &mover.Mover{
		Clients: [2]marker.Client{{Commands: old.Redis}, {Commands: new.Redis}},
		MaxSeal: cfg.MaxSeal, Tries: cfg.MaxAttempts, Replicas: [2]int{cfg.Replicas, cfg.NewReplicas}, Gate: s.gate,
	}
	if cfg.Heartbeat != nil {
		s.mover.Pauses = cfg.Heartbeat.pauses
	}
	return s
}

// Close refuses new calls and waits for those that run. It does not close the Stores. It waits for fn
// without a limit. After the last fn it waits at most 10 s for the clients, which may never return
// from a call: then the error tells how many calls are left.
func (s *Store) Close() error {
	if err := s.gate.Close(); err != nil {
		return fmt.Errorf("cutover: %w", err)
	}
	return nil
}

// begin admits a call, which must leave the gate.
func (s *Store) begin(ctx context.Context, key rmw.Key) (Stage, error) {
	if s.invalid != nil {
		return Stage{}, s.invalid
	}
	stage, err := s.stage(ctx)
	if err == nil {
		err = s.gate.Admit(ctx, key)
	}
	return stage, err
}

// stage returns the present Stage.
func (s *Store) stage(ctx context.Context) (Stage, error) {
	stage, err := s.cfg.Stage.Stage(ctx)
	if err == nil {
		err = stage.Validate()
	}
	return stage, err
}

// Parts is for package operate: the type is internal.
func (s *Store) Parts() *mover.Parts {
	return &mover.Parts{
		Stores: s.stores, Mover: s.mover, Gate: s.gate, Invalid: s.invalid, Sweeps: s.cfg.Heartbeat.sweeps,
		Stage: func(ctx context.Context) (mover.Stage, error) {
			stage, err := s.stage(ctx)
			part := mover.Stage{
				Epoch: stage.Epoch, Complete: stage.Phase == Complete,
				Goal: func(key rmw.Key) mover.Goal { return s.newCall("sweep", key, stage).goal },
			}
			if source, ok := s.cfg.Stage.(*Poller); ok {
				part.Cutover = source.cutover
			}
			return part, err
		},
	}
}

// Both are fn's answers to a Store that must not run it.
var (
	errLook = errors.New("cutover: absent here, so the other store may be the home")
	errMove = errors.New("cutover: the key moves first")
)

// call is an Update, a Read or a Peek on its way to the home of the key.
type call struct {
	*Store
	op   string
	key  rmw.Key
	goal mover.Goal
	home mover.Home

	ofFn bool // fn has failed, or returned a Value of another kind
}

func (s *Store) newCall(op string, key rmw.Key, stage Stage) *call {
	c := &call{Store: s, op: op, key: key}
	switch {
	case stage.Phase == Complete:
		c.goal.Complete = true
		c.home = mover.Home{Side: protocol.New, Known: true}
	case stage.Phase == Reverse:
		c.goal = mover.Goal{Moves: !stage.Freeze, To: protocol.Old}
	case stage.Phase == Copying && stage.chosen(key):
		c.goal = mover.Goal{Moves: !stage.Freeze, To: protocol.New}
		c.home.Side = protocol.New
	}
	return c
}

// run calls try at the home of the key, until it is there.
func (c *call) run(ctx context.Context, try func(rmw.Store) error) error {
	for attempt := 0; ; attempt++ {
		err := try(c.stores[c.home.Side])
		switch {
		case c.ofFn && errors.Is(err, rmw.ErrWrongKind):
			return err
		case !errors.Is(err, errLook) && !errors.Is(err, errMove) && !errors.Is(err, rmw.ErrWrongKind):
			return err
		case attempt == c.cfg.MaxAttempts:
			return redisx.Fail("cutover", c.op, c.key, 0, mover.ErrTooOften)
		}
		if attempt > 1 { // other processes move the key at the same time
			if err := redisx.Sleep(ctx, mover.Pause.Delay(attempt, rand.Float64())); err != nil {
				return redisx.Fail("cutover", c.op, c.key, 0, err)
			}
		}
		goal, cause := c.goal, err
		goal.Moves = goal.Moves && c.op == "update" && !c.home.Stays
		goal.Creates = errors.Is(cause, errMove)
		goal.Unmoved = errors.Is(cause, errLook)
		goal.Opens = errors.Is(cause, rmw.ErrWrongKind) && !errors.Is(cause, seal.ErrMoved) // a seal has the type of before
		if c.home, err = c.mover.Settle(ctx, c.key.Name, goal); err != nil {
			return redisx.Fail("cutover", "move", c.key, 0, redisx.Blame(ctx, err))
		}
		if errors.Is(cause, rmw.ErrWrongKind) && !c.home.Holds(c.key) {
			return cause
		}
	}
}

// Update implements [rmw.Updater]. If the stage moves the key, it moves first, and then fn runs
// under the Store of its new home. A key that exists in neither store moves only if fn writes it.
// fn may run once more than that Store runs it. With lockupdate's Config.Linger, fn may first run on
// a value that has moved on since; it then runs again, as after any refused commit.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	stage, err := s.begin(ctx, key)
	if err == nil && fn == nil {
		s.gate.Leave()
		err = fmt.Errorf("%w: the function is nil", rmw.ErrInvalid)
	}
	if err == nil {
		if err = rmw.CheckTx(ctx, s, key.Name); err != nil {
			s.gate.Leave()
		}
	}
	if err != nil {
		return rmw.Result{}, redisx.Fail("cutover", "update", key, 0, err)
	}
	defer s.gate.Leave()
	c := s.newCall("update", key, stage)
	var res rmw.Result
	calls := 0
	err = c.run(ctx, func(store rmw.Store) (err error) {
		moves := c.goal.Moves && c.goal.To != c.home.Side && !c.home.Stays
		res, err = store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			c.ofFn = false
			switch {
			case !cur.Exists() && c.home.Side == protocol.New && !c.home.Known:
				return cur, errLook
			case cur.Exists() && moves:
				return cur, errMove
			}
			calls++
			next, err := s.callFn(ctx, cur, fn)
			c.ofFn = err != nil || next.Exists() && next.Kind() != key.Kind
			if !c.ofFn && next.Exists() && moves {
				return cur, errMove
			}
			return next, err
		})
		return err
	})
	res.Attempts = calls
	return res, err
}

func (s *Store) callFn(ctx context.Context, cur rmw.Value, fn rmw.UpdateFunc) (rmw.Value, error) {
	s.gate.BeginFn()
	defer s.gate.EndFn()
	return fn(ctx, cur)
}

// Read implements [rmw.Reader]. It moves no key.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	v, _, err := s.look(ctx, "read", key, func(_ protocol.Side, store rmw.Store) (v rmw.Value, left time.Duration, err error) {
		v, err = store.Read(ctx, key)
		return v, left, err
	})
	return v, err
}

// Peek implements [rmw.Peeker], if both Stores do. It moves no key.
func (s *Store) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	return s.look(ctx, "peek", key, func(side protocol.Side, store rmw.Store) (rmw.Value, time.Duration, error) {
		if peeker, ok := rmw.As[rmw.Peeker](store); ok {
			return peeker.Peek(ctx, key)
		}
		reason := fmt.Errorf("%w: the %v Store is no rmw.Peeker", rmw.ErrUnsupported, side)
		return rmw.Value{}, 0, redisx.Fail("cutover", "peek", key, 0, reason)
	})
}

// look calls read at the home of the key.
func (s *Store) look(ctx context.Context, op string, key rmw.Key,
	read func(protocol.Side, rmw.Store) (rmw.Value, time.Duration, error),
) (v rmw.Value, left time.Duration, err error) {
	stage, err := s.begin(ctx, key)
	if err != nil {
		return rmw.Value{}, 0, redisx.Fail("cutover", op, key, 0, err)
	}
	defer s.gate.Leave()
	c := s.newCall(op, key, stage)
	err = c.run(ctx, func(store rmw.Store) (err error) {
		if v, left, err = read(c.home.Side, store); err == nil && !v.Exists() && c.home.Side == protocol.New && !c.home.Known {
			return errLook
		}
		return err
	})
	return v, left, err
}
