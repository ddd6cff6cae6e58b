package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

const (
	// idlePrefix begins the keys that only a sweep moves, which are idle in number.
	idlePrefix = "idle:"
	idle       = 20_000
	idleSize   = 1000

	// sweeperShare is the number of the sweeper's connections, half of them to each store.
	sweeperShare = 12
)

// moving is the store of a member in a cut-over: it moves its keys at their first update.
type moving struct {
	*cutover.Store
	sides [2]store
}

func (s moving) Stats() lockupdate.Stats { return add(s.sides[0].Stats(), s.sides[1].Stats()) }

func (s moving) Close() error {
	return errors.Join(s.sides[0].Close(), s.sides[1].Close(), s.Store.Close())
}

// newMoving returns a store, and its clients of both servers.
func newMoving(s *environment, shares [2]int, dials *dials, open func(*redis.Client) store,
	stage cutover.Source,
) (moving, []*redis.Client) {
	before := *s
	before.profile, before.addr = proxycompat.Redis(), s.old.Options().Addr
	var m moving
	var clients []*redis.Client
	var sides [2]cutover.Side
	for i, env := range []*environment{&before, s} {
		rdb := redis.NewClient(options(env, shares[i], dials))
		clients = append(clients, rdb)
		m.sides[i] = open(rdb)
		sides[i] = cutover.Side{Store: m.sides[i], Redis: rdb}
	}
	m.Store = cutover.New(sides[0], sides[1], cutover.Config{Stage: stage})
	return m, clients
}

func joinMoving(s *environment, share int, dials *dials, open func(*redis.Client) store) *member {
	m, clients := newMoving(s, [2]int{2, share - 2}, dials, open, direction(false))
	return &member{store: m, clients: clients}
}

// direction is the stage of all keys: back to the old store if true.
type direction bool

func (back direction) Stage(context.Context) (cutover.Stage, error) {
	if back {
		return cutover.Stage{Phase: cutover.Reverse}, nil
	}
	return cutover.Stage{Phase: cutover.Copying, Percent: 100}, nil
}

// sweeper moves the idle keys to the new store and back, again and again. It is a process of its own, so that
// its stage is not that of the members. A nil sweeper does nothing.
type sweeper struct {
	moving
	p       *play
	clients []*redis.Client
	back    atomic.Bool
	on      atomic.Bool
	waits   histogram[time.Duration] // since the sweep was switched on or off
	swept   []Swept
	errs    []error
}

// Stage implements [cutover.Source].
func (s *sweeper) Stage(ctx context.Context) (cutover.Stage, error) {
	return direction(s.back.Load()).Stage(ctx)
}

// newSweeper stores the idle keys.
func newSweeper(ctx context.Context, p *play) (*sweeper, error) {
	s := &sweeper{p: p}
	s.moving, s.clients = newMoving(p.env, [2]int{sweeperShare / 2, sweeperShare / 2}, &p.dials, p.open, s)
	pipe := p.env.old.Pipeline()
	for i := range idle {
		pipe.Set(ctx, idlePrefix+strconv.Itoa(i), strings.Repeat("v", idleSize), 0)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		s.leave()
		return nil, fmt.Errorf("store the idle keys: %w", err)
	}
	return s, nil
}

func (s *sweeper) leave() {
	if s == nil {
		return
	}
	_ = s.moving.Close()
	for _, rdb := range s.clients {
		_ = rdb.Close()
	}
}

// config is that of a pass, which rests while waits says so.
func (s *sweeper) config(waits func() bool) cutover.SweepConfig {
	return cutover.SweepConfig{Masters: []cutover.Scanner{s.p.env.old}, Keys: func(name string) (rmw.Key, bool) {
		for waits() {
			_ = pause(context.Background(), time.Millisecond)
		}
		return rmw.Key{}, strings.HasPrefix(name, idlePrefix)
	}}
}

// alternate switches the sweep on and off until ctx ends. It compares the updates of each second while it is on
// with those of the second before: both see the same other programs on the machine.
func (s *sweeper) alternate(ctx context.Context, one *Swept) {
	slice := min(max(s.p.Duration/rounds/40, 100*time.Millisecond), time.Second)
	var without Waits
	was := ending
	for on := false; ; on = !on {
		s.on.Store(on)
		s.waits.reset()
		of := part(s.p.part.Load())
		if pause(ctx, slice) != nil {
			return
		}
		beside := s.waits.spread()
		if on && of == was && of == part(s.p.part.Load()) && min(beside.N, without.N) > 0 {
			one.Updates[of] = append(one.Updates[of], float64(beside.N)/float64(without.N))
			one.P99[of] = append(one.P99[of], float64(beside.P99)/float64(without.P99))
		}
		without, was = beside, of
	}
}

// record adds the wait of an update.
func (s *sweeper) record(took time.Duration) {
	if s != nil {
		s.waits.add(took)
	}
}

// start sweeps in the second round within the limit, and in the third one without, as the control. Both are off
// half of the time. The first round is without a sweep. The warm-up has one, so that its connections have their
// buffers before the heap is measured. stop ends the sweep.
func (s *sweeper) start(ctx context.Context, round int) (stop func()) {
	if s == nil || round == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	cfg := s.config(func() bool { return !s.on.Load() && ctx.Err() == nil })
	if round == 1 {
		cfg.Rate = s.p.Sweep
	}
	one, began := Swept{Limit: cfg.Rate}, time.Now()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { s.alternate(ctx, &one) })
	sweeping.Go(func() {
		for ctx.Err() == nil {
			pass, err := s.moving.Store.Sweep(ctx, cfg)
			if one.Moved += pass.Moved; err != nil && ctx.Err() == nil {
				s.errs = append(s.errs, err)
				return
			}
			s.back.Store(!s.back.Load())
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		sweeping.Wait()
		if one.Took = time.Since(began) / 2; round > 0 {
			s.swept = append(s.swept, one)
		}
	})
}

// measure adds the sweeps, which have ended.
func (s *sweeper) measure(m *Measured) {
	if s != nil {
		m.Sweeps = s.swept
	}
}

// verify looks at all keys in both stores.
func (s *sweeper) verify(ctx context.Context, m *Measured) error {
	if s == nil {
		return nil
	}
	report, err := s.Verify(ctx, s.config(func() bool { return false }))
	m.IdleLost = idle - report.Open - report.Equal - report.Transit.Count
	m.WrongStates = report.Wrong()
	s.leave()
	return errors.Join(append(s.errs, err)...)
}

// Swept counts the work of a sweep beside the updates of a round.
type Swept struct {
	Limit int // keys a second; 0: none
	Moved int
	Took  time.Duration // without the time for which it was off
	// Updates and P99 have the number of updates while it was on for a second, and their 99th percentile, as
	// multiples of those of the second before.
	Updates, P99 [ending][]float64
}

const (
	// slower bounds the median of Swept.P99 for a sweep within its limit.
	slower = 1.25

	// enough pairs of seconds make a median that does not depend on other programs of the machine.
	enough = 8
)

func judgeSweeps(m *Measured) (rows []Row) {
	if len(m.Sweeps) == 0 {
		return nil
	}
	for _, s := range m.Sweeps {
		what := "sweep without a limit, keys a second"
		if s.Limit > 0 {
			what = "sweep of " + wrap.Grouped(int64(s.Limit)) + " keys a second at most"
		}
		rows = append(rows, atLeast(what, int64(float64(s.Moved)/s.Took.Seconds()), 1))
		for p := range ending {
			rows = append(rows, told("  updates / without, keys: "+p.String(), fmt.Sprintf("%.2f", middle(s.Updates[p]))))
			row := ratio("    99th percentile / without", middle(s.P99[p]), 1, "<=", slower)
			if s.Limit == 0 || len(s.P99[p]) < enough {
				row = told(row.What, row.Measured)
			}
			rows = append(rows, row)
		}
	}
	return append(rows, atMost("swept keys without their value", int64(m.IdleLost), 0),
		atMost("swept keys in a wrong state", int64(m.WrongStates), 0))
}

// middle returns the median, NaN of none.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
