package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/unwatch/unwatch/bench/lab"
	"github.com/unwatch/unwatch/bench/peers"
	"github.com/unwatch/unwatch/bench/stats"
)

// Scenario is a load that implementations are put under.
type Scenario struct {
	Name       string
	Network    lab.Network
	Processes  int
	Goroutines int  // in each process
	Hot        bool // one key for all, instead of one for each goroutine
	Turns      int  // so many keys for each goroutine, in turn
	Zipf       int  // so many keys for all, some of them much more often than others
	Impls      []string
	// Background: a ctx that never ends. Otherwise it is one that can be cancelled, as
	// services have it.
	Background bool
	// Writers is how many more processes update the same keys by WATCH.
	Writers int
	// Fn is how long fn waits.
	Fn time.Duration
	// Again: every run repeats it.
	Again bool
	// Length overrides the length of a slot.
	Length time.Duration
	// Locks is how many locks are held, in the scenarios that hold locks.
	Locks int
	// Lease is how long they last without a renewal.
	Lease time.Duration
}

// Title describes a scenario in a line.
func (s Scenario) Title() string {
	on := map[lab.Network]string{
		lab.Loopback: "loopback", lab.Delay: "+1 ms each way", lab.Proxy: "behind twemproxy, loopback",
	}[s.Network]
	var what string
	switch {
	case s.Locks > 0:
		what = stats.Short(float64(s.Locks)) + " locks held"
	case s.Hot:
		what = "ONE hot key, " + s.loops()
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
	if s.Background {
		what += ", context.Background"
	}
	return what + ", " + on
}

// loops are those that update.
func (s Scenario) loops() string {
	if s.Processes == 1 {
		return fmt.Sprintf("1 process x %d goroutines", s.Goroutines)
	}
	return fmt.Sprintf("%d processes x %d goroutines", s.Processes, s.Goroutines)
}

// zipfDraws is after how many keys a goroutine begins anew.
const zipfDraws = 1000

// keys are what each goroutine of each process updates. What differs comes first,
// because twemproxy's hash spreads names that differ at their end badly.
func (s Scenario) keys() [][][]string {
	all := make([][][]string, s.Processes+s.Writers)
	for p := range all {
		for g := range s.Goroutines {
			keys := []string{"room"}
			switch {
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

// distinct is all keys, each once.
func distinct(keys [][][]string) []string {
	var list []string
	for _, process := range keys {
		for _, goroutine := range process {
			list = append(list, goroutine...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Update scenarios. Where nobody waits for anybody, a delay between tries makes no
// difference, so only one of each family runs there.
func calm() []string {
	return []string{"watch", "redsync", "redislock", "rueidislock", "unwatch", "unwatch-ondemand", "unwatch-keep"}
}

func all() []string {
	return []string{
		"watch", "watch+bo", "redsync", "redsync-t", "redislock", "redislock-t", "rueidislock", "rueidislock-nocsc",
		"unwatch", "unwatch-ondemand", "unwatch-solo", "unwatch-keep",
	}
}

// proxied leaves nothing out that a proxy refuses: the table shall say so.
func proxied() []string {
	return []string{"watch", "redsync-t", "redislock-t", "rueidislock", "rueidislock-nocsc", "unwatch", "unwatch-keep"}
}

// holdLease is that of the locks that are held.
const holdLease = 20 * time.Second

// fairness is what a scenario needs to show whether a process starves.
const fairness = 10 * time.Second

// contenders run again in every run: what targets are set for, and what these compare with.
func contenders() []string { return few("watch+bo") }

// few are WATCH and what a target is set for.
func few(more ...string) []string {
	return append([]string{"watch", "unwatch", "unwatch-ondemand"}, more...)
}

// loads are the scenarios that run on loopback and with a delay.
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

// A slow fn makes few updates, so their slots are longer.
const (
	slowFn       = 20 * time.Millisecond
	besideLength = 4 * time.Second
)

// Scenarios returns all there are, in the order in which they are reported.
func Scenarios() []Scenario {
	var list []Scenario
	for _, net := range []struct {
		prefix string
		lab.Network
	}{{"", lab.Loopback}, {"d-", lab.Delay}} {
		for _, s := range loads() {
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
		Scenario{Name: "hold10k", Network: lab.Loopback, Locks: 10_000, Lease: holdLease, Impls: peers.Keepers()},
		Scenario{Name: "hold100k", Network: lab.Loopback, Locks: 100_000, Lease: holdLease, Impls: peers.Keepers()},
	)
}
