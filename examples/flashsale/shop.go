package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// The rounds, by the shop that is open in them.
const (
	naiveRound   = "naive"
	unwatchRound = "unwatch"
)

// keep is how long a sale is kept that nobody deletes.
const keep = 10 * time.Minute

// shop is one process' way to the sale. think stands for all that a real shop does
// between reading the stock and writing it: prices, vouchers, limits.
type shop interface {
	// buy returns how many items are left after this one, and how often that was
	// computed.
	buy(ctx context.Context, o order, think func(context.Context) error) (left, computed int, err error)
	close() error
}

func openShop(j job, rdb *redis.Client) (shop, error) {
	round, key := j.Round, j.Key
	switch round {
	case naiveRound:
		return &naive{rdb: rdb, key: key, crowd: j.plan}, nil
	case unwatchRound:
		// Next to its key, so that the lock has the prefix, too.
		store := lockupdate.New(rdb, lockupdate.Config{LockName: func(key string) string { return key + ":lock" }})
		return unwatch{store, rmw.NewTyped(store, rmw.JSON[sale]()), rmw.Key{Name: key, TTL: keep, Label: "sale"}}, nil
	}
	return nil, fmt.Errorf("no shop for round %q", round)
}

// naive is how it works in every test by hand: there is nobody else.
type naive struct {
	rdb   *redis.Client
	key   string
	crowd plan
	begun atomic.Int64 // orders
}

func (n *naive) buy(ctx context.Context, o order, think func(context.Context) error) (left, computed int, err error) {
	raw, err := n.rdb.Get(ctx, n.key).Bytes()
	if err != nil {
		return 0, 0, err
	}
	var s sale
	if err := json.Unmarshal(raw, &s); err != nil {
		return 0, 0, err
	}
	if err := n.opening(ctx); err != nil {
		return 0, 1, err
	}
	if err := think(ctx); err != nil {
		return 0, 1, err
	}
	if err := s.sell(o); err != nil {
		return 0, 1, err
	}
	if raw, err = json.Marshal(s); err != nil {
		return 0, 1, err
	}
	err = n.rdb.Set(ctx, n.key, raw, keep).Err()
	if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) {
		err = fmt.Errorf("%w: %w", rmw.ErrOutcomeUnknown, err)
	}
	return s.Left, 1, err
}

func (*naive) close() error { return nil }

// unwatch is the same on the lock path.
type unwatch struct {
	store *lockupdate.Store
	sales rmw.Typed[sale]
	key   rmw.Key
}

func (u unwatch) buy(ctx context.Context, o order, think func(context.Context) error) (left, computed int, err error) {
	_, _, err = u.sales.Edit(ctx, u.key, func(ctx context.Context, s *sale, _ bool) error {
		computed++
		if err := think(ctx); err != nil {
			return err
		}
		if err := s.sell(o); err != nil {
			return err // write nothing, and return this very error
		}
		left = s.Left
		return nil
	})
	return left, computed, err
}

func (u unwatch) close() error { return u.store.Close() }
