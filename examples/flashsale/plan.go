package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// plan says who orders, and where. Parent and children make the same one of the
// same numbers.
type plan struct {
	Seed      uint64 `json:"seed"`
	Stock     int    `json:"stock"`
	Processes int    `json:"processes"`
	Workers   int    `json:"workers"` // of each process
}

// demand is how many orders there are for each item: enough that selling one item
// twice shows as more items sold than there were.
const demand = 2

// orders are all that come in, by their number. One in ten comes from the buyer of
// the one before, who has clicked twice.
func (p plan) orders() []order {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	out := make([]order, demand*p.Stock)
	again := false
	for i := range out {
		out[i] = order{No: i, Buyer: i}
		if again = i > 0 && !again && random.IntN(9) == 0; again {
			out[i].Buyer = out[i-1].Buyer
		}
	}
	return out
}

// processOf returns which process serves an order. Neighbours are served by
// different ones: a load balancer takes turns.
func (p plan) processOf(no int) int { return no % p.Processes }

// queue are the orders that one worker serves, one after the other.
func (p plan) queue(process, worker int) []order {
	var out []order
	for _, o := range p.orders() {
		if p.processOf(o.No) == process && o.No/p.Processes%p.Workers == worker {
			out = append(out, o)
		}
	}
	return out
}

// thinker returns what one worker does between reading and writing: it takes its
// time, longer than another needs to come in between.
func (p plan) thinker(process, worker int) func(context.Context) error {
	random := rand.New(rand.NewPCG(p.Seed, 1+uint64(process*p.Workers+worker)))
	return func(ctx context.Context) error {
		const least, spread = 500 * time.Microsecond, time.Millisecond
		return pause(ctx, least+time.Duration(random.Int64N(int64(spread))))
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clickedTwice is how many buyers order twice.
func (p plan) clickedTwice() int {
	n := 0
	for _, o := range p.orders() {
		if o.Buyer != o.No {
			n++
		}
	}
	return n
}
