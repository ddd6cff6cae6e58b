package torture

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// leased counts its lease by a clock, and writes only as long as half of it is left: half of one
// is more than a write takes.
type leased struct {
	naive
	now func() time.Time
}

func newLeased(rdb redis.UniversalClient, now func() time.Time) *leased {
	return &leased{naive{rdb: rdb, px: lease}, now}
}

// wallClock is the time without its monotonic reading, as whoever stores or sends a time has it.
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
