package torture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Control is a store with a planted defect, and the cell in which it shows.
type Control struct {
	Name     string
	About    string
	Topology string
	Nemesis  string
	Caught   func(v *Verdict) bool

	variant
}

// variant configures the stores of a fleet.
type variant struct {
	control   string // name of the control; "": none
	open      func(rdb redis.UniversalClient) rmw.Store
	openOdd   func(rdb redis.UniversalClient) rmw.Store // for every second process; nil: the same
	across    acrossFunc                                // the store over both sides of a cut-over
	lock      opener                                    // a lock without a store; nil: open
	load      func(ctx context.Context) loadOpener      // the stores of a load; ctx ends after it
	unfenced  bool                                      // the external store accepts any token
	isolation func() isolationStore                     // a store of a cell of isolation, which is the control's then
	bank      bool                                      // the fleet works at the bank, and at nothing else
}

// acrossFunc opens the store of a process over the old and the new store.
type acrossFunc func(clients [2]redis.UniversalClient, process int, stage cutover.Source) rmw.Store

// product returns the stores without a defect.
func product() variant {
	return variant{open: openLockupdate, openOdd: openOnDemand, across: openAcross, load: openLoad}
}

// at opens the store of a process over the clients of its stores. Processes from number processes on are on the legacy
// path: they use WATCH, except the first one of a cut-over, and know its old store only.
func (v variant) at(clients []redis.UniversalClient, process int, seed uint64) opened {
	across := len(clients) == 2
	var store rmw.Store
	switch {
	case across && process < processes:
		store = v.across([2]redis.UniversalClient(clients), process, flipsOf(seed, process))
	case process > processes || process == processes && !across:
		store = cas.New(clients[0], cas.Config{MaxAttempts: 1000})
	case process%2 == 1 && v.openOdd != nil:
		store = v.openOdd(clients[0])
	default:
		store = v.open(clients[0])
	}
	o := opened{store: store, works: worksOf(store)}
	if v.bank {
		o.works = bankWorks()
	} else if across && process >= processes {
		o.works = o.works[:writers] // only values, which are refused where the new store has the key
	}
	for _, rdb := range clients {
		o.also = append(o.also, rdb)
	}
	return o
}

// Controls returns all negative controls.
func Controls() []Control {
	lost := func(v *Verdict) bool { return v.Lost > 0 }
	all := []Control{
		{"guard off", "lockupdate without its guard: the lock alone, as most do it", "redis", "stall", lost,
			variant{open: func(rdb redis.UniversalClient) rmw.Store {
				rdb.AddHook(unguarded.Hook{})
				return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000})
			}}},
		{"retries on", "lockupdate on a client that sends commands again when a reply is late or lost", "redis", "deaf",
			func(v *Verdict) bool { return v.Double+v.Ghost+v.Chain > 0 },
			variant{open: func(rdb redis.UniversalClient) rmw.Store {
				return lockupdate.New(again{rdb}, lockupdate.Config{Lease: lease, MaxAttempts: 1000})
			}}},
		{"unlock with the write", "SET and the unlocking DEL in one pipeline, which a proxy takes apart", "codis", "none", lost,
			variant{open: func(rdb redis.UniversalClient) rmw.Store { return &naive{rdb: rdb, together: true, px: lease} }}},
		{"GET for ownership", "GET tells whether the lock is still one's own, then SET writes", "redis", "freeze", lost,
			variant{open: func(rdb redis.UniversalClient) rmw.Store { return &naive{rdb: rdb, asks: true, px: lease} }}},
		{"no lease", "a lock without an expiry, given back by DEL", "redis", "cancel",
			func(v *Verdict) bool { return len(v.Immortal) > 0 },
			variant{open: func(rdb redis.UniversalClient) rmw.Store { return &naive{rdb: rdb} }}},
		{"no token", "an external store that accepts a write with any token", "redis", "stuck",
			func(v *Verdict) bool { return v.Unfenced > 0 },
			variant{open: openLockupdate, unfenced: true}},
		{"no lock", "sections and transfers that take none", "redis", "none",
			func(v *Verdict) bool { return v.Overlap > 0 && v.Torn > 0 },
			variant{open: func(rdb redis.UniversalClient) rmw.Store {
				return unlocked{lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000})}
			}}},
		{"wall clock", "a lease that its holder counts by the wall clock", "redis", "clock", lost,
			variant{open: func(rdb redis.UniversalClient) rmw.Store { return &leased{naive{rdb: rdb, px: lease}} }}},
		{"no wait", "lockupdate without MaxOutage: its calls fail at once while the proxy is away", "nutcracker", "proxy-kill",
			func(v *Verdict) bool { return v.Few > 0 },
			variant{open: func(rdb redis.UniversalClient) rmw.Store {
				return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000, MaxOutage: -1})
			}}},
		{"reads of replicas", "lockupdate with MasterReads, behind a proxy that reads from replicas", "codis-replicas", "none",
			func(v *Verdict) bool { return len(v.NotLinearizable) > 0 },
			variant{open: func(rdb redis.UniversalClient) rmw.Store {
				return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MasterReads: true, MaxAttempts: 1000})
			}}},
	}
	all = append(all,
		Control{"one connection", "lockupdate over one connection, which a hung answer blocks for all keys", "backends", "frozen",
			func(v *Verdict) bool { return v.Slowed > 0 && v.Dropped > 0 }, variant{isolation: oneConnection}},
		Control{"growth", "stores that keep memory and goroutines, starve one store, lose updates, and leave a lock", "redis", "load",
			func(v *Verdict) bool { return v.Lost > 0 && v.grows() }, variant{load: openSpoiled}})
	all = slices.Concat(all, cutoverControls(lost), serviceControls(), bankControls())
	for i := range all {
		all[i].control = all[i].Name
	}
	return all
}

// variantOf returns the variant of a control, or with an empty name the product.
func variantOf(control string) (variant, error) {
	if control == "" {
		return product(), nil
	}
	for _, c := range Controls() {
		if c.Name == control {
			return c.variant, nil
		}
	}
	return variant{}, fmt.Errorf("unknown control %q", control)
}

// unlocked has sections without mutual exclusion.
type unlocked struct{ *lockupdate.Store }

func (unlocked) WithLock(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

func (unlocked) WithLocks(ctx context.Context, _ []string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// again removes the no-retry mark from commands, so that go-redis retries them.
type again struct{ redis.UniversalClient }

func (a again) Process(ctx context.Context, cmd redis.Cmder) error {
	plain := redis.NewCmd(ctx, cmd.Args()...)
	err := a.UniversalClient.Process(ctx, plain)
	take(cmd, plain)
	return err
}

func (a again) Pipeline() redis.Pipeliner {
	return &pipelineAgain{Pipeliner: a.UniversalClient.Pipeline()}
}

// take gives cmd the reply of plain.
func take(cmd, plain redis.Cmder) {
	if c, ok := cmd.(interface{ SetVal(val any) }); ok && plain.Err() == nil {
		c.SetVal(plain.(*redis.Cmd).Val())
	}
	cmd.SetErr(plain.Err())
}

type pipelineAgain struct {
	redis.Pipeliner
	cmds []redis.Cmder
}

func (p *pipelineAgain) Process(ctx context.Context, cmd redis.Cmder) error {
	return p.BatchProcess(ctx, cmd)
}

func (p *pipelineAgain) BatchProcess(ctx context.Context, cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		p.cmds = append(p.cmds, cmd)
		if err := p.Pipeliner.Process(ctx, redis.NewCmd(ctx, cmd.Args()...)); err != nil {
			return err
		}
	}
	return nil
}

func (p *pipelineAgain) Exec(ctx context.Context) ([]redis.Cmder, error) {
	plain, err := p.Pipeliner.Exec(ctx)
	for i, cmd := range plain {
		take(p.cmds[i], cmd)
	}
	return p.cmds, err
}

// naive is a simple lock without a guard: SET NX, GET, SET, DEL.
type naive struct {
	rdb      redis.UniversalClient
	px       time.Duration // expiry of the lock; 0: none
	asks     bool          // verify before the write that the process owns the lock
	together bool          // write and unlock in one pipeline
}

func (s *naive) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if key.Kind == rmw.KindHash {
		fields, err := s.rdb.HGetAll(ctx, key.Name).Result()
		if err != nil || len(fields) == 0 {
			return rmw.Value{}, err
		}
		return rmw.Hash(fields), nil
	}
	text, err := s.rdb.Get(ctx, key.Name).Result()
	if errors.Is(err, redis.Nil) {
		return rmw.Value{}, nil
	}
	return rmw.String(text), err
}

func (s *naive) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	lock, token := "naive-lock:"+key.Name, rand.Text()
	for {
		switch ok, err := s.rdb.SetNX(ctx, lock, token, s.px).Result(); {
		case err != nil:
			return rmw.Result{}, err
		case ok:
			return s.locked(ctx, key, lock, token, fn)
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return rmw.Result{}, err
		}
	}
}

func (s *naive) locked(ctx context.Context, key rmw.Key, lock, token string, fn rmw.UpdateFunc) (rmw.Result, error) {
	cur, err := s.Read(ctx, key)
	if err != nil {
		return rmw.Result{}, err
	}
	next, err := fn(ctx, cur)
	if err != nil {
		return rmw.Result{}, err
	}
	if s.asks {
		if holder, err := s.rdb.Get(ctx, lock).Result(); err != nil || holder != token {
			return rmw.Result{}, errors.Join(rmw.ErrLockLost, err)
		}
	}
	pipe := s.rdb.Pipeline()
	s.write(ctx, pipe, key, next)
	if s.together {
		pipe.Del(ctx, lock)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return rmw.Result{}, errors.Join(rmw.ErrOutcomeUnknown, err)
	}
	if !s.together {
		_ = s.rdb.Del(ctx, lock).Err()
	}
	return rmw.Result{Before: cur, After: next, Written: true}, nil
}

func (s *naive) write(ctx context.Context, pipe redis.Pipeliner, key rmw.Key, next rmw.Value) {
	if key.Kind == rmw.KindHash {
		pipe.HMSet(ctx, key.Name, next.Fields()) // Redis 3.2 has no HSET of several fields
		return
	}
	pipe.Set(ctx, key.Name, next.Text(), 0)
}

// leased measures its lease by the wall clock, and writes only in the first half of the lease, since half a lease is
// longer than a write.
type leased struct{ naive }

func (s *leased) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	wall := func() time.Time { return time.Now().Round(0) } // no monotonic reading, as after storing or sending it
	return s.naive.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		deadline := wall().Add(lease / 2)
		next, err := fn(ctx, cur)
		if err == nil && !wall().Before(deadline) {
			err = rmw.ErrLockLost
		}
		return next, err
	})
}
