package main

import (
	"context"
	"time"
)

// doors is the key that counts who stands in front of the shop when it opens.
func doors(key string) string { return key + ":doors" }

// patienceAtTheDoors is how long who is there waits for the others.
const patienceAtTheDoors = 5 * time.Second

// opening makes a rush of the first orders: each worker has read the stock before any
// of them writes. Otherwise one could have sold all there is before the next one woke
// up, on a machine that is busy, and the naive way would look as if it worked.
func (n *naive) opening(ctx context.Context) error {
	if n.begun.Add(1) > int64(n.crowd.Workers) {
		return nil // each worker has one order at a time, so these are the first ones
	}
	there, err := n.rdb.Incr(ctx, doors(n.key)).Result()
	if err != nil {
		return err
	}
	if err := n.rdb.Expire(ctx, doors(n.key), keep).Err(); err != nil {
		return err
	}
	for end := time.Now().Add(patienceAtTheDoors); there < n.crowd.atTheDoors() && time.Now().Before(end); {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
		if there, err = n.rdb.Get(ctx, doors(n.key)).Int64(); err != nil {
			return err
		}
	}
	return nil
}

// atTheDoors is how many workers have an order at all.
func (p plan) atTheDoors() int64 { return int64(min(p.Processes*p.Workers, demand*p.Stock)) }
