package main

import (
	"slices"
	"time"
)

// tally adds up the receipts of a round.
type tally struct {
	answered   int
	fates      map[fate]int
	computed   int             // how often, all orders together
	waits      []time.Duration // sorted
	thought    time.Duration
	perProcess []int // sold by each
	firstError string
}

func addUp(p plan, receipts map[int]receipt) tally {
	t := tally{fates: map[fate]int{}, perProcess: make([]int, p.Processes)}
	for no := range demand * p.Stock {
		r, ok := receipts[no]
		if !ok || r.Fate == stopped {
			continue
		}
		t.answered++
		t.fates[r.Fate]++
		t.computed += r.Computed
		t.waits = append(t.waits, r.Took)
		t.thought += r.Thought
		if r.Fate == sold {
			t.perProcess[p.processOf(no)]++
		}
		if t.firstError == "" {
			t.firstError = r.Err
		}
	}
	slices.Sort(t.waits)
	return t
}

// quantile returns the wait that so great a share of the orders did not exceed.
func (t tally) quantile(share float64) time.Duration {
	if len(t.waits) == 0 {
		return 0
	}
	return t.waits[int(share*float64(len(t.waits)-1))]
}

// fairness is what the process that sold least has sold of what the one that sold
// most has.
func (t tally) fairness() float64 {
	return float64(slices.Min(t.perProcess)) / float64(max(1, slices.Max(t.perProcess)))
}
