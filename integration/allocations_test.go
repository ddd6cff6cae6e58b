package integration

import (
	"context"
	"math"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// The allocations of an update, including the client. fn allocates nothing here.
func TestAllocationsOfAnUpdate(t *testing.T) {
	addr := servers.Redis(t).Addr
	for name, tc := range map[string]struct {
		cfg  lockupdate.Config
		most float64
	}{
		"lock":      {lockupdate.Config{}, 53},
		"on demand": {lockupdate.Config{LockOnDemand: true}, 33},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := redis.NewClient(proxycompat.Options(proxycompat.Redis(), addr))
			defer func() { assert.NoError(t, rdb.Close()) }()
			s := lockupdate.New(rdb, tc.cfg)
			defer func() { assert.NoError(t, s.Close()) }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			value := rmw.String("value")
			fn := func(context.Context, rmw.Value) (rmw.Value, error) { return value, nil }
			var err error
			update := func() {
				if err == nil {
					_, err = s.Update(ctx, rmw.Key{Name: "k"}, fn)
				}
			}
			least := math.Inf(1)
			for range 10 { // what others of this process allocate meanwhile is counted as well
				least = min(least, testing.AllocsPerRun(100, update))
			}
			require.NoError(t, err)
			assert.LessOrEqual(t, least, tc.most)
		})
	}
}
