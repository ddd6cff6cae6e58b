package main

import (
	"fmt"
	"slices"
)

// audit compares what buyers were told with what is stored, order by order.
type audit struct {
	Sold     int // orders that were told "sold"
	Oversold int // more than there were
	Unsold   int // items left over, although more were wanted

	Lost    []int // orders that were told "sold" and are not stored
	Doubled []int // stored more than once
	Phantom []int // stored, though told that they are not, or not ordered at all
	Twice   []int // buyers with more than one order told "sold" or stored
	Turned  []int // orders told "sold out" before it was, or "bought before" of who had not

	SameItem int  // sold an item that another was sold: told that as many were left
	Negative bool // the stock, stored or told
	Uneven   bool // stock and stored orders do not add up
}

// judge audits a round. Of one that is not finished, less can be said.
func judge(p plan, receipts map[int]receipt, stored sale, finished bool) audit {
	orders := p.orders()
	a := audit{Negative: stored.Left < 0, Uneven: stored.Left+len(stored.Orders) != p.Stock}
	times := map[int]int{}              // how often each order is stored
	hasOrders := map[int]map[int]bool{} // of each buyer, those told "sold" or stored
	perhaps := map[int]bool{}           // buyers with an order that may have been written
	has := func(o order) {
		if hasOrders[o.Buyer] == nil {
			hasOrders[o.Buyer] = map[int]bool{}
		}
		hasOrders[o.Buyer][o.No] = true
	}
	for _, o := range stored.Orders {
		if times[o.No]++; times[o.No] == 2 {
			a.Doubled = append(a.Doubled, o.No)
		}
		if o.No < 0 || o.No >= len(orders) || orders[o.No] != o {
			a.Phantom = append(a.Phantom, o.No)
		}
		has(o)
	}
	left := map[int]bool{}
	untolds := 0 // orders that are stored, though not told "sold"
	for _, o := range orders {
		r := receipts[o.No]
		switch r.Fate {
		case sold:
			a.Sold++
			has(o)
			if times[o.No] == 0 {
				a.Lost = append(a.Lost, o.No)
			}
			if left[r.Left] {
				a.SameItem++
			}
			left[r.Left] = true
			a.Negative = a.Negative || r.Left < 0
		case untold, unclear:
			perhaps[o.Buyer] = true
			untolds += min(1, times[o.No])
		default:
			if times[o.No] > 0 {
				a.Phantom = append(a.Phantom, o.No)
				untolds++
			}
		}
	}
	for buyer, of := range hasOrders {
		if len(of) > 1 {
			a.Twice = append(a.Twice, buyer)
		}
	}
	slices.Sort(a.Twice)
	for _, o := range orders {
		switch receipts[o.No].Fate {
		case soldOut:
			if stored.Left > 0 { // nothing is ever put back
				a.Turned = append(a.Turned, o.No)
			}
		case boughtBefore:
			if len(hasOrders[o.Buyer]) == 0 && !perhaps[o.Buyer] {
				a.Turned = append(a.Turned, o.No)
			}
		}
	}
	a.Oversold = max(0, a.Sold-p.Stock, len(stored.Orders)-p.Stock)
	if finished {
		a.Unsold = max(0, p.Stock-a.Sold-untolds)
	}
	return a
}

// broken lists the promises that were not kept.
func (a audit) broken() []string {
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{a.Oversold, "more sold than there were"},
		{a.Unsold, "left over, although they were wanted"},
		{len(a.Lost), "told \"sold\", and not stored"},
		{len(a.Doubled), "stored more than once"},
		{len(a.Phantom), "stored, though the buyer was told otherwise"},
		{len(a.Twice), "buyers bought twice"},
		{a.SameItem, "sold an item that another has bought"},
		{len(a.Turned), "refused without cause"},
	} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%s %s", count(c.n), c.what))
		}
	}
	if a.Negative {
		out = append(out, "the stock was negative")
	}
	if a.Uneven {
		out = append(out, "what is left and what is sold do not add up to the stock")
	}
	return out
}
