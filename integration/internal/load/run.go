package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
)

// Config configures a run.
type Config struct {
	Duration   time.Duration // of the measured load; warming up and closing take additional time
	Seed       uint64
	Keys       int
	Goroutines int
	Pool       int // connections of all stores together
	Topology   string
	OnDemand   bool   // lockupdate.Config.LockOnDemand
	Sweep      int    // keys a second that a sweep moves beside the updates, at most; 0: no cut-over
	Dir        string // of the servers' files; "": a temporary one
	Progress   func(text string)

	open func(rdb *redis.Client) store // nil: the product's stores
}

const (
	// rounds are equal, so that the last is comparable with the first.
	rounds = 3

	// holders is the number of goroutines per store that hold a key for longer than a lease. The next store
	// has one for each key, too, which has to wait.
	holders = 2
)

func (cfg Config) validate() error {
	switch {
	case cfg.Duration < time.Second:
		return errors.New("a duration of at least 1s is needed")
	case cfg.Keys < 2 || cfg.Goroutines < stores:
		return fmt.Errorf("at least 2 keys and %d goroutines are needed", stores)
	case !slices.Contains(Topologies(), cfg.Topology):
		return fmt.Errorf("no topology is called %s; there are %s", cfg.Topology, strings.Join(Topologies(), ", "))
	case cfg.Sweep < 0:
		return errors.New("a sweep needs a positive rate")
	case cfg.Pool < cfg.connections()*stores:
		return fmt.Errorf("a pool of at least %d connections is needed: %d for each of %d stores",
			cfg.connections()*stores, cfg.connections(), stores)
	}
	return nil
}

// connections returns the number that a store needs, two for each of its servers.
func (cfg Config) connections() int {
	if cfg.Sweep > 0 {
		return 4
	}
	return 2
}

// play is a run in progress.
type play struct {
	Config
	began    time.Time
	env      *environment
	dials    dials
	members  []*member
	keys     *keys
	expected *expectations
	sweeper  *sweeper // nil: no cut-over
	workers  []*worker
	all      sync.WaitGroup // workers and holders

	part, round    atomic.Int32
	updates        atomic.Int64 // acknowledged
	calls, inside  atomic.Int64 // updates in flight; those inside a slow function
	held, heldLost atomic.Int64
	abandoned      atomic.Int64
	waits          [parts]histogram[time.Duration]
	turns          histogram[time.Duration] // times a store spent without the contended key
	passed         histogram[int64]         // updates of it by other stores meanwhile

	samples  []Sample // owned by the sampling goroutine until it ends
	atServer int      // likewise
}

// Run runs the load and measures it. The error reports an incomplete run.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cfg.Dir, "unwatch-load-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// The stores are closed before the servers also after an interruption.
	env, err := startEnvironment(context.WithoutCancel(ctx), cfg.Topology, dir, cfg.Sweep > 0)
	if err != nil {
		return nil, err
	}
	defer env.close()
	if cfg.open == nil {
		cfg.open = func(rdb *redis.Client) store {
			return lockupdate.New(rdb, lockupdate.Config{Lease: lease, LockOnDemand: cfg.OnDemand})
		}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	p := &play{Config: cfg, began: time.Now(), env: env, keys: &keys{shared: cfg.Keys, held: holders * stores / 2}, atServer: -1}
	p.expected = newExpectations(p.keys.all())
	return p.run(ctx)
}

func (p *play) run(ctx context.Context) (*Report, error) {
	m := &Measured{Bound: p.Pool, GoroutinesBefore: runtime.NumGoroutine(), OnDemand: p.OnDemand}
	for i := range stores {
		share := p.Pool / stores
		if i < p.Pool%stores {
			share++
		}
		p.members = append(p.members, join(p.env, share, &p.dials, p.open))
	}
	if p.Sweep > 0 {
		var err error
		if p.sweeper, err = newSweeper(ctx, p); err != nil {
			p.leave()
			return nil, err
		}
		defer p.sweeper.leave()
		m.Bound += sweeperShare
	}
	p.start()
	sampled, stop := context.WithCancel(ctx)
	var sampling sync.WaitGroup
	sampling.Go(func() { p.sampling(sampled, min(max(p.Duration/60, 50*time.Millisecond), 2*time.Second)) })
	err := p.load(ctx)
	stop()
	sampling.Wait()
	if err == nil {
		p.Progress("closing")
		err = p.awaitInside(ctx)
	}
	m.Ending = p.end() // also if ctx has ended: the workers depend on their stores only
	defer p.leave()
	if err != nil {
		return nil, err
	}
	p.measure(m)
	if err := p.after(ctx, m); err != nil {
		return nil, err
	}
	return &Report{Config: p.Config, Measured: m, Rows: judge(m)}, nil
}

// leave closes the clients, a second time after a successful run.
func (p *play) leave() {
	for _, m := range p.members {
		_ = m.leave()
	}
}

// start starts all goroutines.
func (p *play) start() {
	p.round.Store(-1)
	for i := range p.Goroutines {
		w := newWorker(p, i)
		p.workers = append(p.workers, w)
		p.all.Go(w.run)
	}
	for i := range holders * stores {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(p.Goroutines+i)))
		p.all.Go(func() { p.hold(p.members[i%stores], p.Keys+i/2, rng) })
	}
}

// load runs the rounds, after a warm-up that fills pools, buffers and the servers' script caches.
func (p *play) load(ctx context.Context) error {
	for round := -1; round < rounds; round++ {
		stop := p.sweeper.start(ctx, round)
		defer stop()
		length := p.Duration / rounds
		name := fmt.Sprintf("round %d of %d", round+1, rounds)
		if round < 0 {
			name, length = "warming up", min(max(length/5, time.Second), 10*time.Second)
		}
		for _, next := range []struct {
			part
			share time.Duration // in tenths
		}{{even, 4}, {skewed, 4}, {hot, 2}} {
			for _, m := range p.members {
				m.servedAt.Store(0)
			}
			p.part.Store(int32(next.part))
			if next.part == even {
				p.round.Store(int32(round))
			}
			p.Progress(fmt.Sprintf("%s: %-7s %10d updates so far", name, next.part, p.updates.Load()))
			if err := pause(ctx, length*next.share/10); err != nil {
				return err
			}
		}
		stop()
		if err := p.awaitTurns(ctx, int64(turnsPerRound*(round+1))); err != nil {
			return err
		}
		if round < 0 {
			p.forgetWaits()
		}
	}
	return nil
}

// turnsPerRound is the number of turns that makes the shares of four stores comparable. A slow machine
// needs longer for them than a tenth of a short run.
const turnsPerRound = 100

// awaitTurns prolongs a round until the stores have taken n turns in all, for patience at most: stores
// without turns fail the check.
func (p *play) awaitTurns(ctx context.Context, n int64) error {
	for limit := time.Now().Add(patience); p.turns.spread().N < n && time.Now().Before(limit); {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// forgetWaits resets the counters after the warm-up.
func (p *play) forgetWaits() {
	for i := range p.waits {
		p.waits[i].reset()
	}
	p.turns.reset()
	p.passed.reset()
	for _, m := range p.members {
		m.hot.Store(0)
	}
}

// measure sums the counters of the goroutines, all of which have ended.
func (p *play) measure(m *Measured) {
	m.Samples = p.samples
	_, m.ConnectionsMost = p.dials.counts()
	m.ConnectionsAtServer = p.atServer
	for i := range m.Waits {
		m.Waits[i] = p.waits[i].spread()
	}
	m.Turns, m.Passed = p.turns.spread(), p.passed.spread()
	for _, one := range p.members {
		var served []int64
		for _, w := range p.workers {
			if w.member == one {
				served = append(served, w.served.Load())
			}
		}
		m.Served = append(m.Served, served)
		m.Shares = append(m.Shares, one.hot.Load())
		s := one.Stats()
		m.Stats = add(m.Stats, s)
	}
	p.sweeper.measure(m)
	m.Held, m.HeldLost = p.held.Load(), p.heldLost.Load()
}

func add(a, b lockupdate.Stats) lockupdate.Stats {
	a.Acquired += b.Acquired
	a.Waited += b.Waited
	a.Polled += b.Polled
	a.Renewed += b.Renewed
	a.RenewFailures += b.RenewFailures
	a.Lost += b.Lost
	a.Conflicted += b.Conflicted
	a.Combined += b.Combined
	return a
}
