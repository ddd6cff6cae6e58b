package plan

import (
	"fmt"
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
	Impls      []string
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
	switch {
	case s.Locks > 0:
		return fmt.Sprintf("%s locks held, %s", stats.Short(float64(s.Locks)), on)
	case s.Hot && s.Processes == 1:
		return fmt.Sprintf("ONE hot key, 1 process x %d goroutines, %s", s.Goroutines, on)
	case s.Hot:
		return fmt.Sprintf("ONE hot key, %d processes x %d goroutines, %s", s.Processes, s.Goroutines, on)
	case s.Turns > 0:
		return fmt.Sprintf("one goroutine, %d keys in turn, %s", s.Turns, on)
	case s.Goroutines == 1:
		return "one goroutine, the same key again and again, " + on
	}
	return fmt.Sprintf("distinct keys, %d goroutines, %s", s.Goroutines, on)
}

// keys are what each goroutine of each process updates. What differs comes first,
// because twemproxy's hash spreads names that differ at their end badly.
func (s Scenario) keys() [][][]string {
	all := make([][][]string, s.Processes)
	for p := range all {
		for g := range s.Goroutines {
			keys := []string{"room"}
			if !s.Hot {
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
	return []string{"watch", "redsync", "redislock", "rueidislock", "unwatch", "unwatch-keep"}
}

func all() []string {
	return []string{
		"watch", "watch+bo", "redsync", "redsync-t", "redislock", "redislock-t", "rueidislock", "rueidislock-nocsc",
		"unwatch", "unwatch-solo", "unwatch-keep",
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

// Scenarios returns all there are, in the order in which they are reported.
func Scenarios() []Scenario {
	var list []Scenario
	for _, net := range []struct {
		prefix string
		lab.Network
	}{{"", lab.Loopback}, {"d-", lab.Delay}} {
		list = append(list,
			Scenario{Name: net.prefix + "unc1", Network: net.Network, Processes: 1, Goroutines: 1, Impls: calm()},
			Scenario{Name: net.prefix + "turn1", Network: net.Network, Processes: 1, Goroutines: 1, Turns: 16,
				Impls: []string{"watch", "redsync", "unwatch"}},
			Scenario{Name: net.prefix + "unc8", Network: net.Network, Processes: 1, Goroutines: 8, Impls: calm()},
			Scenario{Name: net.prefix + "unc64", Network: net.Network, Processes: 1, Goroutines: 64,
				Impls: append(calm(), "unwatch-get")},
			Scenario{Name: net.prefix + "hot64", Network: net.Network, Processes: 1, Goroutines: 64, Hot: true, Impls: all()},
			Scenario{Name: net.prefix + "hot4x16", Network: net.Network, Processes: 4, Goroutines: 16, Hot: true, Impls: all()},
			Scenario{Name: net.prefix + "fair4x16", Network: net.Network, Processes: 4, Goroutines: 16, Hot: true,
				Impls: []string{"unwatch"}, Length: fairness},
		)
	}
	return append(list,
		Scenario{Name: "p-unc1", Network: lab.Proxy, Processes: 1, Goroutines: 1, Impls: proxied()},
		Scenario{Name: "p-unc64", Network: lab.Proxy, Processes: 1, Goroutines: 64, Impls: proxied()},
		Scenario{Name: "p-hot64", Network: lab.Proxy, Processes: 1, Goroutines: 64, Hot: true, Impls: proxied()},
		Scenario{Name: "p-hot4x16", Network: lab.Proxy, Processes: 4, Goroutines: 16, Hot: true, Impls: proxied()},
		Scenario{Name: "hold10k", Network: lab.Loopback, Locks: 10_000, Lease: holdLease, Impls: peers.Keepers()},
		Scenario{Name: "hold100k", Network: lab.Loopback, Locks: 100_000, Lease: holdLease, Impls: peers.Keepers()},
	)
}
