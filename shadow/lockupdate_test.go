package shadow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

// Updates of several keys by lockupdate behind a proxy match, although it seals the keys while fn runs.
func TestTransactsOfLockupdateMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
		require.NoError(t, err)
		rdb := redis.NewClient(proxy.Options())
		candidate := lockupdate.New(rdb, lockupdate.Config{})
		s := shadow.New(rmwtest.NewMemory(), candidate, shadow.Config{})
		bookings(t, s, 4, 20, 5)
		time.Sleep(time.Minute)
		r := quiet(t, s)
		for _, op := range r.Operations {
			for c, tally := range op.Tallies {
				assert.Equal(t, tally.Eligible, tally.Compared, "%s %s: %v", op.Name, c, tally.NotCompared)
			}
		}
		require.NoError(t, s.Close())
		require.NoError(t, candidate.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, proxy.Close())
	})
}
