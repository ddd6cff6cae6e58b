package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
)

// Nemesis injects faults while a fleet works.
type Nemesis struct {
	Name  string
	About string

	needs        trait         // the traits of a topology that it requires; 0: none
	every        time.Duration // the mean time between two faults
	clientFaults clientFaults  // faults inside the clients during the whole cell
	// children runs the fleet as operating system processes, which can be killed.
	children bool

	// forgets: the fault makes Redis lose acknowledged data. Such losses are counted, and break no promise
	// of the stores.
	forgets bool
	// half: at least half of the operations must be acknowledged, since calls wait until the fault is over.
	half  bool
	least time.Duration // the minimum duration of a cell
	// faults is the minimum number of noted faults in a cell: fewer prove nothing.
	faults int

	load *loadSize // the cell is a load, and runs alone; nil: it has a fleet

	inject func(ctx context.Context, c *injection) error
}

// injection is the context of a fault.
type injection struct {
	*Environment
	rng      *rand.Rand
	children *children
	note     func(format string, args ...any) // records a fault in the history
}

// fits reports whether the topology supports the nemesis, and differs from others for it.
func (n Nemesis) fits(t Topology) bool {
	return t.has&n.needs == n.needs && (t.only == nil || slices.Contains(t.only, n.Name))
}

// harmless reports whether it injects none.
func (n Nemesis) harmless() bool {
	return n.inject == nil && !n.children && n.clientFaults == (clientFaults{})
}

// run injects faults until ctx ends. Each fault has healed when run returns, even if ctx has ended.
func (n Nemesis) run(ctx context.Context, c *injection) error {
	if n.inject == nil {
		<-ctx.Done()
		return nil
	}
	for {
		if err := pause(ctx, within(c.rng, n.every/2, n.every*3/2)); err != nil {
			return nil
		}
		if err := n.inject(ctx, c.at(n.needs)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("nemesis %s: %w", n.Name, err)
		}
	}
}

// during returns a ctx that ends after d, without a deadline: connections would use the deadline, and fail
// a moment before the ctx ends.
func during(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(d, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

// poisoned adds a toxic for a random time.
func (c *injection) poisoned(ctx context.Context, t toxic, from, to time.Duration) error {
	d := within(c.rng, from, to)
	return c.poisonedAt(ctx, c.relays.some(c.rng), t, d)
}

func (c *injection) poisonedAt(ctx context.Context, who []*toxiproxy.Proxy, t toxic, d time.Duration) error {
	c.note("%d processes: %s %s, %v for %v", len(who), t.Stream, t.Type, t.Attributes, d)
	heal, err := poison(who, t)
	if err != nil {
		return err
	}
	_ = pause(ctx, d)
	heal()
	return nil
}

// direction returns requests or replies at random.
func (c *injection) direction() string {
	if c.rng.IntN(2) == 0 {
		return "upstream"
	}
	return "downstream"
}

// Nemeses returns all of them.
func Nemeses() []Nemesis {
	all := []Nemesis{
		{Name: "none", About: "no harm: what everything else is held against"},
		{Name: "load", About: "no harm: 1000 goroutines update 10,000 keys over 32 connections, in search of growth and starvation",
			needs: loads, least: 6 * time.Second, load: &loadSize{keys: 10_000, goroutines: 1000, pool: 32}},
	}
	all = append(all, onTheWire()...)
	all = append(all, inTheClient()...)
	all = append(all, atTheServer()...)
	all = append(all, atTheSentinels()...)
	all = append(all, inTheCluster()...)
	return append(all, inTheProxy()...)
}

func onTheWire() []Nemesis {
	return []Nemesis{
		{Name: "cut", About: "connections end after some byte of a request or of a reply", every: 60 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				t := toxic{Type: "limit_data", Stream: c.direction(), Attributes: map[string]any{"bytes": c.rng.IntN(600)}}
				return c.poisoned(ctx, t, 5*time.Millisecond, 60*time.Millisecond)
			}},
		{Name: "slow", About: "requests or replies take up to a third of a lease longer, and overtake those of others", every: 50 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				how := map[string]any{"latency": c.rng.IntN(60), "jitter": c.rng.IntN(40)}
				t := toxic{Type: "latency", Stream: c.direction(), Attributes: how}
				return c.poisoned(ctx, t, 50*time.Millisecond, 300*time.Millisecond)
			}},
		{Name: "black-hole", About: "nothing comes through, and no connection ends, for longer than clients wait", every: 400 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				t := toxic{Type: "timeout", Stream: c.direction(), Attributes: map[string]any{"timeout": 0}}
				return c.poisoned(ctx, t, patience, 2*patience)
			}},
		{Name: "deaf", About: "one process gets no replies for longer than it waits; its commands arrive", every: 50 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				t := toxic{Type: "timeout", Stream: "downstream", Attributes: map[string]any{"timeout": 0}}
				return c.poisonedAt(ctx, c.relays.one(c.rng), t, within(c.rng, patience, 2*patience))
			}},
		{Name: "stuck", About: "nothing comes from one process for up to four leases, and functions last as long and do not heed their ctx",
			every: 100 * time.Millisecond, clientFaults: clientFaults{stall: chance{6, 4 * lease}},
			inject: func(ctx context.Context, c *injection) error {
				t := toxic{Type: "timeout", Stream: "upstream", Attributes: map[string]any{"timeout": 0}}
				return c.poisonedAt(ctx, c.relays.one(c.rng), t, within(c.rng, lease, 4*lease))
			}},
	}
}

// nemesisOf returns the one with a name.
func nemesisOf(name string) (Nemesis, error) {
	for _, n := range Nemeses() {
		if n.Name == name {
			return n, nil
		}
	}
	return Nemesis{}, fmt.Errorf("unknown nemesis %q", name)
}

// clientFaults lists the faults inside the fleet's processes.
type clientFaults struct {
	stall  chance // fn stalls past the lease
	cancel chance // the ctx of an update is cancelled
	steps  bool   // the wall clock steps; only of children
}

// chance is a probability with a duration; the zero value never happens.
type chance struct {
	in   int // one in this number
	upTo time.Duration
}

// oftener multiplies the probability.
func (c chance) oftener(times int) chance { return chance{(c.in + times - 1) / times, c.upTo} }

func (c chance) draw(rng *rand.Rand) (time.Duration, bool) {
	if c.in == 0 || rng.IntN(c.in) != 0 {
		return 0, false
	}
	return time.Duration(rng.Int64N(int64(c.upTo))), true
}

func inTheClient() []Nemesis {
	return []Nemesis{
		{Name: "stall", About: "one call in eight of the user's function lasts up to four leases, and does not heed its ctx",
			clientFaults: clientFaults{stall: chance{8, 4 * lease}}},
		{Name: "cancel", About: "every other update's ctx is cancelled within 5 ms",
			clientFaults: clientFaults{cancel: chance{2, 5 * time.Millisecond}}},
		{Name: "process-kill", About: "a process is killed (SIGKILL) in the middle of its updates, and another one begins",
			every: 60 * time.Millisecond, children: true, needs: oneAddress,
			inject: func(_ context.Context, c *injection) error {
				return c.children.some(c.rng, func(p *os.Process) error {
					c.note("process %d is killed", p.Pid)
					return p.Kill()
				})
			}},
		{Name: "process-stop", About: "a process stands still (SIGSTOP) for up to four leases, and goes on",
			every: 60 * time.Millisecond, children: true, needs: oneAddress,
			inject: func(ctx context.Context, c *injection) error {
				return c.children.some(c.rng, func(p *os.Process) error {
					d := within(c.rng, time.Millisecond, 4*lease)
					c.note("process %d is suspended for %v", p.Pid, d)
					if err := p.Signal(syscall.SIGSTOP); err != nil {
						return err
					}
					_ = pause(ctx, d)
					return p.Signal(syscall.SIGCONT)
				})
			}},
		// Leases use the monotonic clock, which does not step. Functions stall past the lease, so that a lease measured by
		// the wall clock fails. The servers and proxies have no effect on clocks, so few topologies run it.
		{Name: "clock", About: "a process's wall clock steps an hour forward or back; one call in eight of the user's function lasts up to four leases",
			clientFaults: clientFaults{stall: chance{8, 4 * lease}, steps: true}, children: true, least: 2 * time.Second, needs: clocks},
	}
}
