package main

import (
	"errors"
	"slices"
)

// sale is what is stored under the one key that everybody fights for, as JSON: the
// stock, and who got an item. Both are in one value, so that an order that is lost
// takes its entry along.
type sale struct {
	Left   int     `json:"left"`
	Orders []order `json:"orders,omitempty"`
}

// order is one click on "buy".
type order struct {
	No    int `json:"no"` // unique, from 0
	Buyer int `json:"buyer"`
}

// Why an order is refused.
var (
	errSoldOut      = errors.New("sold out")
	errBoughtBefore = errors.New("this buyer has bought before")
)

// sell is the business of the shop. It is the same in both rounds.
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
