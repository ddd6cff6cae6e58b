package integration

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// The allocations of an update, including the client. fn allocates nothing here.
func TestAllocationsOfAnUpdate(t *testing.T) {
	addr := servers.Redis(t).Addr
	open := func(cfg lockupdate.Config) func(*redis.Client) rmw.Store {
		return func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, cfg) }
	}
	for name, tc := range map[string]struct {
		open func(*redis.Client) rmw.Store
		most float64
	}{
		"WATCH":     {func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) }, 55},
		"lock":      {open(lockupdate.Config{}), 55},
		"observed":  {open(lockupdate.Config{Observer: func(context.Context, lock.Event) {}}), 56},
		"on demand": {open(lockupdate.Config{LockOnDemand: true}), 37},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := redis.NewClient(proxycompat.Options(proxycompat.Redis(), addr))
			defer func() { assert.NoError(t, rdb.Close()) }()
			s := tc.open(rdb)
			if c, ok := s.(io.Closer); ok {
				defer func() { assert.NoError(t, c.Close()) }()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var err error
			if locks, ok := s.(lock.Locker); ok {
				held, err := locks.Lock(ctx, "held") // or the loop of leases starts again and again on a busy machine
				require.NoError(t, err)
				defer func() { assert.NoError(t, held.Unlock()) }()
			}
			value := rmw.String("value")
			fn := func(context.Context, rmw.Value) (rmw.Value, error) { return value, nil }
			n, keys := 0, strings.Split("abcdefghijklmnop", "") // in turn: a release in flight costs five more
			update := func() {
				if n++; err == nil {
					_, err = s.Update(ctx, rmw.Key{Name: keys[n%len(keys)]}, fn)
				}
			}
			least := math.Inf(1)
			for range 10 { // other goroutines of the process allocate, too
				least = min(least, testing.AllocsPerRun(100, update))
			}
			require.NoError(t, err)
			assert.LessOrEqual(t, least, tc.most)
		})
	}
}
