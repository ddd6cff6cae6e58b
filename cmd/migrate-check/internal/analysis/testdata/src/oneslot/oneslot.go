// Package oneslot is judged by a Redis Cluster, which checks slots itself.
package oneslot

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func all(ctx context.Context, rdb *redis.Client, a, b string) {
	rdb.SInter(ctx, a, b)           // want `it is refused unless they share a slot \(MC402\)`
	rdb.Del(ctx, "{a}", "{b}")      // want `are in different slots, 15495 and 3300, and it is refused.*MC402`
	rdb.SInter(ctx, "{}"+a, "{}"+b) // want `MC402` `the hash tag is empty, so it is none.*MC405` `the hash tag is empty, so it is none.*MC405`
	rdb.SInter(ctx, "{"+a+"}x", "{"+a+"}y")
	rdb.Rename(ctx, "{"+a+"}x", "{"+a+"}y")
	rdb.Rename(ctx, a, b) // want `RENAME.*MC402`
}
