package main

import (
	"slices"
	"time"
)

// The ways in which the stored sale can differ from the buyers' answers.
const (
	oversold = iota
	unsold
	lost
	phantom
	twice
	sameLeft
	uneven
)

var faults = [...]string{
	oversold: "items sold beyond the stock",
	unsold:   "items left over",
	lost:     "orders told \"sold\" and not stored",
	phantom:  "orders stored twice, or told otherwise",
	twice:    "buyers with two items",
	sameLeft: "orders told the remaining stock of another",
	uneven:   "items more stored and left than there were",
}

// audit counts each of the faults.
type audit [len(faults)]int

func judge(c crowd, told []receipt, stored sale) (a audit) {
	orders := c.orders()
	answers, isStored, bought, lefts := map[int]answer{}, map[int]bool{}, map[order]bool{}, map[int]bool{}
	for _, r := range told {
		answers[r.No] = r.Answer
	}
	for _, o := range stored.Orders {
		if isStored[o.No] || answers[o.No] != sold || orders[o.No] != o {
			a[phantom]++
		}
		isStored[o.No], bought[o] = true, true
	}
	for _, r := range told {
		if r.Answer != sold {
			continue
		}
		a[oversold]++
		bought[orders[r.No]] = true
		if !isStored[r.No] {
			a[lost]++
		}
		if lefts[r.Left] {
			a[sameLeft]++
		}
		lefts[r.Left] = true
	}
	items := map[int]int{}
	for o := range bought {
		if items[o.Buyer]++; items[o.Buyer] == 2 {
			a[twice]++
		}
	}
	a[oversold] = max(0, a[oversold]-c.Stock, len(stored.Orders)-c.Stock)
	a[unsold], a[uneven] = max(0, stored.Left), stored.Left+len(stored.Orders)-c.Stock
	return a
}

// result is the figures of one round.
type result struct {
	audit   audit
	answers map[answer]int
	took    time.Duration
	waits   []time.Duration // sorted
}

func summarize(told []receipt, a audit) result {
	r := result{audit: a, answers: map[answer]int{}}
	for _, t := range told {
		r.answers[t.Answer]++
		r.waits = append(r.waits, t.End.Sub(t.Begin))
	}
	slices.Sort(r.waits)
	first := slices.MinFunc(told, func(a, b receipt) int { return a.Begin.Compare(b.Begin) })
	last := slices.MaxFunc(told, func(a, b receipt) int { return a.End.Compare(b.End) })
	r.took = last.End.Sub(first.Begin)
	return r
}
