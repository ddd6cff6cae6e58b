package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// sale is the stored value: the stock and its buyers, as JSON under one key.
type sale struct {
	Left   int     `json:"left"`
	Orders []order `json:"orders,omitempty"`
}

// order is one click on "buy".
type order struct {
	No    int `json:"no"` // unique, from 0
	Buyer int `json:"buyer"`
}

var (
	errSoldOut      = errors.New("sold out")
	errBoughtBefore = errors.New("this buyer has bought before")
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

// crowd is the number of items and of their sellers.
type crowd struct{ Stock, Processes, Workers int } // Workers per process

// demand is the number of orders per item.
const demand = 2

// orders returns all orders. One in ten is the second click of the buyer before it.
func (c crowd) orders() []order {
	out := make([]order, demand*c.Stock)
	for i := range out {
		out[i] = order{No: i, Buyer: i}
		if i%10 == 9 {
			out[i].Buyer--
		}
	}
	return out
}

// queue returns the orders of one worker. Like a load balancer, it deals consecutive orders to different processes.
func (c crowd) queue(process, worker int) []order {
	return slices.DeleteFunc(c.orders(), func(o order) bool {
		return o.No%c.Processes != process || o.No/c.Processes%c.Workers != worker
	})
}

// The rounds.
const (
	naiveRound   = "naive"
	unwatchRound = "unwatch"
)

// ttl is the expiry of every key, in case that deleting it fails.
const ttl = 10 * time.Minute

// buyer sells one item to a buyer. think stands for the work of a real shop between the read and the write: prices,
// vouchers, limits. left is the stock afterwards.
type buyer func(ctx context.Context, o order, think func(context.Context) error) (left int, err error)

// naive reads, thinks and writes. It is right as long as nothing else writes.
func naive(rdb *redis.Client, key string) buyer {
	return func(ctx context.Context, o order, think func(context.Context) error) (int, error) {
		raw, err := rdb.Get(ctx, key).Bytes()
		if err != nil {
			return 0, err
		}
		var s sale
		if err := errors.Join(json.Unmarshal(raw, &s), think(ctx)); err != nil {
			return 0, err
		}
		if err := s.sell(o); err != nil {
			return 0, err
		}
		if raw, err = json.Marshal(s); err != nil {
			return 0, err
		}
		return s.Left, rdb.Set(ctx, key, raw, ttl).Err()
	}
}

// unwatch does the same in one Edit.
func unwatch(store rmw.Store, key string) buyer {
	sales := rmw.NewTyped(store, rmw.JSON[sale]())
	return func(ctx context.Context, o order, think func(context.Context) error) (int, error) {
		s, _, err := sales.Edit(ctx, rmw.Key{Name: key, TTL: ttl}, func(ctx context.Context, s *sale, _ bool) error {
			if err := think(ctx); err != nil {
				return err
			}
			return s.sell(o) // an error writes nothing, and Edit returns it
		})
		return s.Left, err
	}
}
