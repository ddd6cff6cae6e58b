package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The audit must find what it is there for: each of these is planted in a sale of
// ten items in which all was right.
func TestAudit(t *testing.T) {
	p := plan{Seed: 1, Stock: 10, Processes: 2, Workers: 2}
	orders := p.orders()
	twice := 0 // the number of a second click among the first ten orders
	for no := range p.Stock {
		if orders[no].Buyer != no {
			twice = no
		}
	}
	if twice == 0 {
		t.Fatal("choose a seed with a second click among the first ten orders")
	}
	for _, tt := range []struct {
		name   string
		change func(told map[int]receipt, stored *sale)
		want   []string
	}{
		{"all right", func(map[int]receipt, *sale) {}, nil},
		{"oversold", func(told map[int]receipt, s *sale) {
			told[19] = receipt{No: 19, Fate: sold, Left: 20}
			s.Orders = append(s.Orders, orders[19])
		}, []string{"1 more sold than there were", "what is left and what is sold do not add up to the stock"}},
		{"oversold, and nobody was told", func(_ map[int]receipt, s *sale) {
			s.Orders = append(s.Orders, orders[19])
		}, []string{
			"1 more sold than there were", "1 stored, though the buyer was told otherwise",
			"what is left and what is sold do not add up to the stock",
		}},
		{"one item sold twice, so a sold order is lost", func(told map[int]receipt, _ *sale) {
			told[19] = receipt{No: 19, Fate: sold, Left: 4}
		}, []string{
			"1 more sold than there were", "1 told \"sold\", and not stored", "1 sold an item that another has bought",
		}},
		{"a sold order is lost, its item with it", func(_ map[int]receipt, s *sale) {
			s.Orders = s.Orders[1:]
		}, []string{"1 told \"sold\", and not stored", "what is left and what is sold do not add up to the stock"}},
		{"one lost and one stored twice, so the counts agree", func(_ map[int]receipt, s *sale) {
			s.Orders[0] = s.Orders[1]
		}, []string{"1 told \"sold\", and not stored", "1 stored more than once"}},
		{"all is gone", func(_ map[int]receipt, s *sale) {
			*s = sale{}
		}, []string{"10 told \"sold\", and not stored", "what is left and what is sold do not add up to the stock"}},
		{"a buyer bought twice", func(told map[int]receipt, s *sale) {
			told[twice] = receipt{No: twice, Fate: sold, Left: told[0].Left}
			told[0] = receipt{No: 0, Fate: soldOut}
			s.Orders[0] = orders[twice]
		}, []string{"1 buyers bought twice"}},
		{"stored, though refused", func(told map[int]receipt, _ *sale) {
			told[3] = receipt{No: 3, Fate: soldOut}
		}, []string{"1 stored, though the buyer was told otherwise"}},
		{"stored, though it failed", func(told map[int]receipt, _ *sale) {
			told[3] = receipt{No: 3, Fate: failed}
		}, []string{"1 stored, though the buyer was told otherwise"}},
		{"stored, and nobody has ordered it", func(_ map[int]receipt, s *sale) {
			s.Orders[0] = order{No: 77, Buyer: 77}
		}, []string{"1 told \"sold\", and not stored", "1 stored, though the buyer was told otherwise"}},
		{"in another buyer's name", func(_ map[int]receipt, s *sale) {
			s.Orders[0].Buyer = 19
		}, []string{"1 stored, though the buyer was told otherwise"}},
		{"items left over", func(told map[int]receipt, s *sale) {
			told[s.Orders[9].No] = receipt{No: s.Orders[9].No, Fate: failed}
			s.Left, s.Orders = 1, s.Orders[:9]
		}, []string{"1 left over, although they were wanted", "8 refused without cause"}},
		{"the stock was negative", func(told map[int]receipt, _ *sale) {
			r := told[0]
			r.Left = -1
			told[0] = r
		}, []string{"the stock was negative"}},
		{"refused a buyer who has bought nothing", func(told map[int]receipt, _ *sale) {
			told[19] = receipt{No: 19, Fate: boughtBefore}
		}, []string{"1 refused without cause"}},
		{"unclear, and stored", func(told map[int]receipt, _ *sale) {
			told[3] = receipt{No: 3, Fate: unclear}
		}, nil},
		{"unclear, and not stored", func(told map[int]receipt, _ *sale) {
			told[19] = receipt{No: 19, Fate: unclear}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told, stored := perfect(p)
			tt.change(told, &stored)
			assert.Equal(t, tt.want, judge(p, told, stored, true).broken())
		})
	}
}

// Of a round that was cut short it is no fault that there are items left.
func TestAuditOfAnUnfinishedRound(t *testing.T) {
	p := plan{Seed: 1, Stock: 10, Processes: 2, Workers: 2}
	told, stored := perfect(p)
	for no := 5; no < len(p.orders()); no++ {
		delete(told, no)
	}
	stored = sale{Left: p.Stock - 5, Orders: stored.Orders[:5]}
	assert.Empty(t, judge(p, told, stored, false).broken())
	delete(told, 4) // its process was killed before it could say
	assert.Empty(t, judge(p, told, stored, false).broken())
	told[3] = receipt{No: 3, Fate: stopped}
	assert.Equal(t, []string{"1 stored, though the buyer was told otherwise"}, judge(p, told, stored, false).broken())
}

// perfect plays a sale one order after the other, with nobody else there.
func perfect(p plan) (map[int]receipt, sale) {
	told, stored := map[int]receipt{}, sale{Left: p.Stock}
	for _, o := range p.orders() {
		r := receipt{No: o.No, Fate: fateOf(stored.sell(o))}
		if r.Fate == sold {
			r.Left = stored.Left
		}
		told[o.No] = r
	}
	return told, stored
}
