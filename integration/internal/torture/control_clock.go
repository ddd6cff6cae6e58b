package torture

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// leased measures its lease by a clock, and writes only in the first half of the lease, since half a lease
// is longer than a write.
type leased struct {
	naive
	now func() time.Time
}

func newLeased(rdb redis.UniversalClient, now func() time.Time) *leased {
	return &leased{naive{rdb: rdb, px: lease}, now}
}

// wallClock returns the time without its monotonic reading, as after storing or sending it.
func wallClock() time.Time { return time.Now().Round(0) }

func (s *leased) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return s.naive.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		deadline := s.now().Add(lease / 2)
		next, err := fn(ctx, cur)
		if err == nil && !s.now().Before(deadline) {
			err = rmw.ErrLockLost
		}
		return next, err
	})
}
