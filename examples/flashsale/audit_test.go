package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The audit finds each fault in a sale of ten items that is otherwise right.
func TestAudit(t *testing.T) {
	const stock = 10
	var orders []order
	for no := range demand * stock {
		orders = append(orders, orderOf(no))
	}
	for name, tt := range map[string]struct {
		change func(told []receipt, s *sale)
		want   figures
	}{
		"all right": {func([]receipt, *sale) {}, figures{}},
		"oversold": {func(told []receipt, s *sale) {
			told[18].err, told[18].left = nil, 20
			s.Orders = append(s.Orders, orders[18])
		}, figures{oversold: 1, uneven: 1}},
		"oversold, and the buyer was refused": {func(_ []receipt, s *sale) {
			s.Orders = append(s.Orders, orders[18])
		}, figures{oversold: 1, phantom: 1, uneven: 1}},
		"one item sold twice, so a sold order is lost": {func(told []receipt, _ *sale) {
			told[18].err, told[18].left = nil, 4
		}, figures{oversold: 1, lost: 1, sameLeft: 1}},
		"a sold order is lost, its item with it": {func(_ []receipt, s *sale) {
			s.Orders = s.Orders[1:]
		}, figures{lost: 1, uneven: -1}},
		"one lost and one stored twice, so the counts agree": {func(_ []receipt, s *sale) {
			s.Orders[0] = s.Orders[1]
		}, figures{lost: 1, phantom: 1}},
		"all is gone": {func(_ []receipt, s *sale) { *s = sale{} }, figures{lost: 10, uneven: -10}},
		"a buyer bought twice": {func(told []receipt, s *sale) {
			told[9].err, told[9].left = nil, told[0].left
			told[0].err = errSoldOut
			s.Orders[0] = orders[9]
		}, figures{twice: 1}},
		"stored, though refused": {func(told []receipt, _ *sale) { told[3].err = errSoldOut }, figures{phantom: 1}},
		"stored, and never ordered": {func(_ []receipt, s *sale) {
			s.Orders[0] = order{No: 77, Buyer: 77}
		}, figures{lost: 1, phantom: 1}},
		"stored for another buyer": {func(_ []receipt, s *sale) { s.Orders[0].Buyer = 19 }, figures{phantom: 1}},
		"items left over": {func(told []receipt, s *sale) {
			told[s.Orders[9].No].err = errSoldOut
			s.Left, s.Orders = 1, s.Orders[:9]
		}, figures{unsold: 1}},
		"the stock is negative": {func(_ []receipt, s *sale) { s.Left = -1 }, figures{uneven: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			stored, told := sale{Left: stock}, []receipt{}
			for _, o := range orders { // one after the other
				err := stored.sell(o)
				told = append(told, receipt{err, stored.Left, time.Second})
			}
			tt.change(told, &stored)
			got := judge(stock, told, 2*time.Second, stored)
			copy(got[:oversold], make([]int, oversold))
			assert.Equal(t, tt.want, got)
		})
	}
}

// The other figures are counted.
func TestFigures(t *testing.T) {
	told := []receipt{
		{nil, 0, time.Second}, {errSoldOut, 0, 3 * time.Second}, {errBoughtBefore, 0, 2 * time.Second}, {errSoldOut, 0, 4 * time.Second},
	}
	got := judge(1, told, 2*time.Second, sale{Orders: []order{orderOf(0)}})
	assert.Equal(t, figures{toldSold: 1, toldSoldOut: 2, toldBought: 1, perSecond: 2, median: 3000, longest: 4000}, got)
}
