package main

import (
	"errors"
	"slices"
	"time"
)

const (
	key    = "sale"
	demand = 2 // orders per item
)

// size is the number of items, and of their sellers.
type size struct{ stock, processes, workers int } // workers per process

// sale is the stored value: the stock and its buyers, as JSON.
type sale struct {
	Left   int     `json:"left"`
	Orders []order `json:"orders,omitempty"`
}

// order is one click on "buy".
type order struct {
	No    int `json:"no"` // unique, from 0
	Buyer int `json:"buyer"`
}

// orderOf returns an order. One in ten is the second click of the buyer before it.
func orderOf(no int) order {
	if no%10 == 9 {
		return order{no, no - 1}
	}
	return order{no, no}
}

var (
	errSoldOut      = errors.New("sold out")
	errBoughtBefore = errors.New("bought before")
)

// sell is the business rule, the same in both rounds.
func (s *sale) sell(o order) error {
	switch {
	case slices.ContainsFunc(s.Orders, func(sold order) bool { return sold.Buyer == o.Buyer }):
		return errBoughtBefore
	case s.Left <= 0:
		return errSoldOut
	}
	s.Left--
	s.Orders = append(s.Orders, o)
	return nil
}

// receipt is the answer to one order.
type receipt struct {
	err  error // nil: sold
	left int   // if sold: the stock afterwards
	wait time.Duration
}

// The figures of a round. From oversold on, they count ways in which the stored sale differs from the answers.
const (
	toldSold, toldSoldOut, toldBought, perSecond, median, longest = 0, 1, 2, 3, 4, 5
	oversold, unsold, lost, phantom, twice, sameLeft, uneven      = 6, 7, 8, 9, 10, 11, 12
)

var names = [...]string{
	`orders told "sold"`, `orders told "sold out"`, `orders told "bought before"`,
	"orders per second", "median wait, ms", "longest wait, ms",
	"items sold beyond the stock", "items left over", `orders told "sold" and not stored`, "orders stored twice, or told otherwise",
	"buyers with two items", "orders told the remaining stock of another", "items more stored and left than there were",
}

type figures [len(names)]int

// judge compares the answers to all orders, by number, with the stored sale.
func judge(stock int, told []receipt, took time.Duration, stored sale) (f figures) {
	isStored, bought, lefts, items, waits := map[int]bool{}, map[order]bool{}, map[int]bool{}, map[int]int{}, []time.Duration{}
	for _, o := range stored.Orders {
		if isStored[o.No] || o.No >= len(told) || told[o.No].err != nil || orderOf(o.No) != o {
			f[phantom]++
		}
		isStored[o.No], bought[o] = true, true
	}
	for no, r := range told {
		waits = append(waits, r.wait)
		switch {
		case errors.Is(r.err, errSoldOut):
			f[toldSoldOut]++
		case r.err != nil:
			f[toldBought]++
		default:
			f[toldSold]++
			if !isStored[no] {
				f[lost]++
			}
			if lefts[r.left] {
				f[sameLeft]++
			}
			bought[orderOf(no)], lefts[r.left] = true, true
		}
	}
	for o := range bought {
		if items[o.Buyer]++; items[o.Buyer] == 2 {
			f[twice]++
		}
	}
	f[oversold] = max(0, f[toldSold]-stock, len(stored.Orders)-stock)
	f[unsold], f[uneven] = max(0, stored.Left), stored.Left+len(stored.Orders)-stock
	slices.Sort(waits)
	f[perSecond] = int(float64(len(told)) / took.Seconds())
	f[median], f[longest] = int(waits[len(waits)/2].Milliseconds()), int(waits[len(waits)-1].Milliseconds())
	return f
}
