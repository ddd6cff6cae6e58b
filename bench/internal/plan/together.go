package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// together returns the scenarios that update several keys together.
func together() []Scenario {
	impls := []string{"watch", "redsync-t", "redislock-t", "unwatch"}
	return []Scenario{
		{Name: "two1", Processes: 1, Goroutines: 1, Together: 2, Impls: impls},
		{Name: "four1", Processes: 1, Goroutines: 1, Together: 4, Impls: impls},
		{Name: "two64", Processes: 1, Goroutines: 64, Together: 2, Accounts: 10_000, Impls: impls},
		{Name: "four64", Processes: 1, Goroutines: 64, Together: 4, Accounts: 10_000, Impls: impls},
		{Name: "two64-100", Processes: 1, Goroutines: 64, Together: 2, Accounts: 100, Impls: impls},
		{Name: "two64-10", Processes: 1, Goroutines: 64, Together: 2, Accounts: 10, Impls: impls},
		{Name: "twohot64", Processes: 1, Goroutines: 64, Together: 2, Hot: true, Impls: impls},
		{Name: "twohot4x16", Processes: 4, Goroutines: 16, Together: 2, Hot: true, Impls: impls},
		{Name: "read1", Processes: 1, Goroutines: 1, Together: 2, Hot: true, Reader: true, Impls: impls[3:]},
		{Name: "read8", Processes: 1, Goroutines: 8, Together: 2, Hot: true, Reader: true, Impls: impls[3:]},
		{Name: "read64", Processes: 1, Goroutines: 64, Together: 2, Hot: true, Reader: true, Impls: impls[3:]},
	}
}

// Note returns a note for readers of the table, or "".
func (s Scenario) Note() string {
	switch {
	case s.Together == 0:
		return ""
	case s.Reader:
		return "sealed %: the share of plain GETs of one of the keys that get WRONGTYPE; sealed ms: for how long an update seals the key, " +
			"by the number of decisions."
	}
	return "redsync and redislock: a lock for each key, in the order of their names, around MGET and pipelined SETs. They guard nothing: " +
		"a process that dies, or a lock that expires, leaves some of the keys written."
}

// apart separates the names of keys that are updated together. WATCH and MGET take them in this order.
const apart = " "

// sets returns the sets of keys that a goroutine updates.
func (s Scenario) sets(process, goroutine int) []string {
	names := func(of string, numbers []int) string {
		all := make([]string, s.Together)
		for i := range all {
			all[i] = fmt.Sprintf("%d%s:room", numbers[i], of)
		}
		return strings.Join(all, apart)
	}
	if s.Accounts == 0 {
		of := ""
		if !s.Hot {
			of = fmt.Sprintf("-%d-%d", goroutine, process)
		}
		return []string{names(of, []int{0, 1, 2, 3})}
	}
	rng := rand.New(rand.NewPCG(uint64(process), uint64(goroutine)))
	var list []string
	for range zipfDraws {
		drawn := map[int]bool{}
		var numbers []int
		for len(numbers) < s.Together {
			if n := rng.IntN(s.Accounts); !drawn[n] {
				drawn[n] = true
				numbers = append(numbers, n)
			}
		}
		list = append(list, names("", numbers))
	}
	return list
}
