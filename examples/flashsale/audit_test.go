package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The audit finds each fault in a sale of ten items that is otherwise right.
func TestAudit(t *testing.T) {
	c := crowd{10, 2, 2}
	orders := c.orders()
	for name, tt := range map[string]struct {
		change func(told []receipt, s *sale)
		want   audit
	}{
		"all right": {func([]receipt, *sale) {}, audit{}},
		"oversold": {func(told []receipt, s *sale) {
			told[18].Answer, told[18].Left = sold, 20
			s.Orders = append(s.Orders, orders[18])
		}, audit{oversold: 1, uneven: 1}},
		"oversold, and the buyer was refused": {func(_ []receipt, s *sale) {
			s.Orders = append(s.Orders, orders[18])
		}, audit{oversold: 1, phantom: 1, uneven: 1}},
		"one item sold twice, so a sold order is lost": {func(told []receipt, _ *sale) {
			told[18].Answer, told[18].Left = sold, 4
		}, audit{oversold: 1, lost: 1, sameLeft: 1}},
		"a sold order is lost, its item with it": {func(_ []receipt, s *sale) {
			s.Orders = s.Orders[1:]
		}, audit{lost: 1, uneven: -1}},
		"one lost and one stored twice, so the counts agree": {func(_ []receipt, s *sale) {
			s.Orders[0] = s.Orders[1]
		}, audit{lost: 1, phantom: 1}},
		"all is gone": {func(_ []receipt, s *sale) { *s = sale{} }, audit{lost: 10, uneven: -10}},
		"a buyer bought twice": {func(told []receipt, s *sale) {
			told[9].Answer, told[9].Left = sold, told[0].Left
			told[0].Answer = soldOut
			s.Orders[0] = orders[9]
		}, audit{twice: 1}},
		"stored, though refused": {func(told []receipt, _ *sale) { told[3].Answer = soldOut }, audit{phantom: 1}},
		"stored, and never ordered": {func(_ []receipt, s *sale) {
			s.Orders[0] = order{No: 77, Buyer: 77}
		}, audit{lost: 1, phantom: 1}},
		"stored for another buyer": {func(_ []receipt, s *sale) { s.Orders[0].Buyer = 19 }, audit{phantom: 1}},
		"items left over": {func(told []receipt, s *sale) {
			told[s.Orders[9].No].Answer = soldOut
			s.Left, s.Orders = 1, s.Orders[:9]
		}, audit{unsold: 1}},
		"the stock is negative": {func(_ []receipt, s *sale) { s.Left = -1 }, audit{uneven: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			stored, told := sale{Left: c.Stock}, []receipt{}
			for _, o := range orders { // one after the other
				r := receipt{No: o.No, Answer: sold}
				if err := stored.sell(o); errors.Is(err, errSoldOut) {
					r.Answer = soldOut
				} else if err != nil {
					r.Answer = boughtBefore
				}
				r.Left = stored.Left
				told = append(told, r)
			}
			tt.change(told, &stored)
			assert.Equal(t, tt.want, judge(c, told, stored))
		})
	}
}

// Each order is in one queue; a second click is served by another worker, and by
// another process where there is one.
func TestQueues(t *testing.T) {
	for _, c := range []crowd{{400, 3, 8}, {10, 1, 2}, {50, 16, 64}, {11, 3, 5}} {
		orders := c.orders()
		worker := map[int][2]int{}
		for process := range c.Processes {
			for w := range c.Workers {
				for _, o := range c.queue(process, w) {
					require.NotContains(t, worker, o.No, "in two queues")
					require.Equal(t, orders[o.No], o)
					worker[o.No] = [2]int{process, w}
				}
			}
		}
		require.Len(t, worker, demand*c.Stock)
		for no, o := range orders {
			if o.Buyer == no {
				continue
			}
			require.Equal(t, no-1, o.Buyer)
			require.NotEqual(t, worker[no-1], worker[no])
			require.True(t, c.Processes == 1 || worker[no-1][0] != worker[no][0])
		}
	}
}
