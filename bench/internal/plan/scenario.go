package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/internal/lab"
	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// Scenario is one kind of load.
type Scenario struct {
	Name       string
	Network    lab.Network
	Processes  int
	Goroutines int  // per process
	Hot        bool // one key for all, else one per goroutine
	Turns      int  // number of keys that each goroutine takes in turn
	Zipf       int  // number of keys for all, with a Zipf distribution
	// Together is the number of keys that an update has; 0: one.
	Together int
	// Accounts is the number of keys from which an update of several takes its own.
	Accounts int
	Impls    []string
	// Background selects a ctx that never ends, else the ctx is cancellable.
	Background bool
	// Writers is the number of additional processes that update the same keys by WATCH.
	Writers int
	// Fn is the duration of fn.
	Fn time.Duration
	// Reader adds a client that reads a key plainly all the time.
	Reader bool
	// Alternate means that each update of a key is by another process than the one before it.
	Alternate bool
	// Again means that every run repeats the scenario.
	Again bool
	// Length overrides the length of a slot.
	Length time.Duration
	// Locks is the number of held locks, in scenarios that hold locks.
	Locks int
	// Lease is the lease of held locks.
	Lease time.Duration
}

// Title describes a scenario in one line.
func (s Scenario) Title() string {
	on := map[lab.Network]string{
		lab.Loopback: "loopback", lab.Delay: "+1 ms each way", lab.Proxy: "behind twemproxy, loopback",
		lab.Services: "sections under lock services, loopback",
	}[s.Network]
	var what string
	switch {
	case s.Locks > 0:
		what = stats.Short(float64(s.Locks)) + " locks held"
	case s.Hot:
		what = "ONE hot key, " + s.loops()
		if s.Together > 0 {
			what = fmt.Sprintf("the same %d keys together for all, %s", s.Together, s.loops())
		}
	case s.Accounts > 0:
		what = fmt.Sprintf("%d of %d keys together, %s", s.Together, s.Accounts, s.loops())
	case s.Together > 0:
		what = fmt.Sprintf("one goroutine, the same %d keys together again and again", s.Together)
	case s.Zipf > 0:
		what = fmt.Sprintf("%d keys by Zipf's law, %s", s.Zipf, s.loops())
	case s.Turns > 0:
		what = fmt.Sprintf("one goroutine, %d keys in turn", s.Turns)
	case s.Goroutines == 1:
		what = "one goroutine, the same key again and again"
	default:
		what = fmt.Sprintf("distinct keys, %d goroutines", s.Goroutines)
	}
	if s.Writers > 0 {
		what += fmt.Sprintf(", beside %d such processes with WATCH, fn of %v", s.Writers, s.Fn)
	}
	if s.Reader {
		what += ", beside a plain reader"
	}
	if s.Alternate {
		what += fmt.Sprintf(" in turn, fn of %v", s.Fn)
	}
	if s.Background {
		what += ", context.Background"
	}
	return what + ", " + on
}

// lockServices lists the implementations over lock services. The first one is the measure of the others.
func lockServices() []string {
	return slices.DeleteFunc(peers.Names(), func(n string) bool { return !peers.LockService(n) })
}

// loops describes the processes that update.
func (s Scenario) loops() string {
	if s.Processes == 1 {
		return fmt.Sprintf("1 process x %d goroutines", s.Goroutines)
	}
	return fmt.Sprintf("%d processes x %d goroutines", s.Processes, s.Goroutines)
}

// zipfDraws is the number of keys after which a goroutine starts again.
const zipfDraws = 1000

// keys returns the keys of each goroutine of each process. Names differ at their beginning, because
// the hash of twemproxy spreads names badly that differ only at their end.
func (s Scenario) keys() [][][]string {
	all := make([][][]string, s.Processes+s.Writers)
	for p := range all {
		for g := range s.Goroutines {
			keys := []string{"room"}
			switch {
			case s.Together > 0:
				keys = s.sets(p, g)
			case s.Zipf > 0:
				keys = keys[:0]
				zipf := rand.NewZipf(rand.New(rand.NewPCG(uint64(p), uint64(g))), 1.1, 1, uint64(s.Zipf-1))
				for range zipfDraws {
					keys = append(keys, fmt.Sprintf("%d:room", zipf.Uint64()))
				}
			case !s.Hot:
				keys = keys[:0]
				for k := range max(1, s.Turns) {
					keys = append(keys, fmt.Sprintf("%d-%d-%d:room", k, g, p))
				}
			}
			all[p] = append(all[p], keys)
		}
	}
	return all
}

// distinct returns each key once.
func distinct(keys [][][]string) []string {
	var list []string
	for _, process := range keys {
		for _, goroutine := range process {
			for _, key := range goroutine {
				list = append(list, strings.Split(key, apart)...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// calm lists the implementations for scenarios without contention, where a delay between tries
// makes no difference.
func calm() []string {
	return []string{
		"watch", "redsync", "redislock", "rueidislock",
		"unwatch", "unwatch-ondemand", "unwatch-inline", "unwatch-keep", "unwatch-observed",
	}
}

func all() []string {
	return []string{
		"watch", "watch+bo", "redsync", "redsync-t", "redislock", "redislock-t", "rueidislock", "rueidislock-nocsc",
		"unwatch", "unwatch-ondemand", "unwatch-solo", "unwatch-keep",
	}
}

// proxied includes implementations that a proxy refuses, so that the table shows it.
func proxied() []string {
	return []string{"watch", "redsync-t", "redislock-t", "rueidislock", "rueidislock-nocsc", "unwatch", "unwatch-keep"}
}

// holdLease is the lease of held locks.
const holdLease = 20 * time.Second

// fairness is the slot length that shows whether a process starves.
const fairness = 10 * time.Second

// contenders run again in every run: the implementations with floors, and their baselines.
func contenders() []string { return few("watch+bo") }

// few returns WATCH and the implementations with floors.
func few(more ...string) []string {
	return append([]string{"watch", "unwatch", "unwatch-ondemand"}, more...)
}

// loads returns the scenarios for loopback and for the delayed network.
func loads() []Scenario {
	return []Scenario{
		{Name: "unc1", Processes: 1, Goroutines: 1, Impls: calm()},
		{Name: "turn1", Processes: 1, Goroutines: 1, Turns: 16, Impls: few("redsync")},
		{Name: "unc8", Processes: 1, Goroutines: 8, Impls: calm()},
		{Name: "unc64", Processes: 1, Goroutines: 64, Impls: append(calm(), "unwatch-get")},
		{Name: "hot64", Processes: 1, Goroutines: 64, Hot: true, Again: true, Impls: all()},
		{Name: "hot4x16", Processes: 4, Goroutines: 16, Hot: true, Again: true, Impls: all()},
		{Name: "fair4x16", Processes: 4, Goroutines: 16, Hot: true, Impls: []string{"unwatch", "unwatch-ondemand"}, Length: fairness},
		{Name: "zipf64", Processes: 1, Goroutines: 64, Zipf: 100, Impls: few()},
		{Name: "zipf4x16", Processes: 4, Goroutines: 16, Zipf: 100, Impls: few()},
		{Name: "unc1-bg", Processes: 1, Goroutines: 1, Background: true, Impls: few()},
		{Name: "unc8-bg", Processes: 1, Goroutines: 8, Background: true, Impls: few()},
		{Name: "unc64-bg", Processes: 1, Goroutines: 64, Background: true, Impls: few()},
		{Name: "hot64-bg", Processes: 1, Goroutines: 64, Hot: true, Background: true, Impls: few()},
		{Name: "hot4x16-bg", Processes: 4, Goroutines: 16, Hot: true, Background: true, Impls: few()},
	}
}

// A slow fn makes few updates, so the slots are longer.
const (
	slowFn       = 20 * time.Millisecond
	besideLength = 4 * time.Second
)

// Scenarios returns all scenarios in the order of the reports.
func Scenarios() []Scenario {
	var list []Scenario
	for _, net := range []struct {
		prefix string
		lab.Network
	}{{"", lab.Loopback}, {"d-", lab.Delay}} {
		for _, s := range slices.Concat(loads(), together()) {
			s.Name, s.Network = net.prefix+s.Name, net.Network
			list = append(list, s)
		}
	}
	return append(list,
		Scenario{Name: "hot16x1", Network: lab.Loopback, Processes: 16, Goroutines: 1, Hot: true, Again: true,
			Impls: few("watch+bo")},
		Scenario{Name: "beside4x1", Network: lab.Loopback, Processes: 4, Goroutines: 1, Hot: true, Writers: 4, Fn: slowFn,
			Impls: few(), Length: besideLength},
		Scenario{Name: "beside2x4", Network: lab.Loopback, Processes: 2, Goroutines: 4, Hot: true, Writers: 2, Fn: slowFn,
			Impls: few(), Length: besideLength},
		Scenario{Name: "p-unc1", Network: lab.Proxy, Processes: 1, Goroutines: 1, Impls: proxied()},
		Scenario{Name: "p-unc64", Network: lab.Proxy, Processes: 1, Goroutines: 64, Impls: proxied()},
		Scenario{Name: "p-hot64", Network: lab.Proxy, Processes: 1, Goroutines: 64, Hot: true, Impls: proxied()},
		Scenario{Name: "p-hot4x16", Network: lab.Proxy, Processes: 4, Goroutines: 16, Hot: true, Impls: proxied()},
		Scenario{Name: "lock-free", Network: lab.Services, Processes: 1, Goroutines: 1, Turns: 4, Impls: lockServices()},
		Scenario{Name: "lock-hot", Network: lab.Services, Processes: 4, Goroutines: 1, Hot: true, Impls: lockServices()},
		Scenario{Name: "lock-turns", Network: lab.Services, Processes: 2, Goroutines: 1, Hot: true, Fn: slowFn, Alternate: true,
			Impls: lockServices()},
		Scenario{Name: "hold10k", Network: lab.Loopback, Locks: 10_000, Lease: holdLease, Impls: peers.Keepers()},
		Scenario{Name: "hold100k", Network: lab.Loopback, Locks: 100_000, Lease: holdLease, Impls: peers.Keepers()},
	)
}
