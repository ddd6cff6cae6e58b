package shadow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// callsUntil returns the number of calls before the finding, at most limit. A session gets Key.TTL when it
// begins, and all later updates keep its expiry. A session has ten updates, in nine seconds on average.
func callsUntil(t *testing.T, candidate rmw.Store, seed uint64, limit int, want string) (calls int, found bool) {
	t.Helper()
	s := shadow.New(rmwtest.NewMemory(), candidate, shadow.Config{})
	random := rand.New(rand.NewPCG(seed, seed))
	const sessions = 100
	var updates [sessions]int
	for ; calls < limit && !found; calls++ {
		n := random.IntN(sessions)
		key := rmw.Key{Name: fmt.Sprintf("session:%d:%d", n, updates[n]/10), Label: "session"}
		if updates[n]%10 == 0 {
			key.TTL = 30 * time.Minute
		}
		set(t, s, key, rmw.String(fmt.Sprintf(`{"posts":%d}`, updates[n])))
		updates[n]++
		time.Sleep(10 * time.Millisecond)
		if calls%10 == 0 {
			found = named(s.Report())[want] > 0
		}
	}
	require.NoError(t, s.Close())
	r := s.Report()
	require.NoError(t, r.Check())
	if !found {
		assert.Empty(t, named(r))
	}
	return calls, found
}

// A path that remembers the expiry of one update, and starts it anew with the next ones, never lets a session
// end. Both ways to set an expiry are tried: Key.TTL and Value.WithTTL.
func TestSlidingExpiryIsFound(t *testing.T) {
	const seeds, limit = 20, 3000
	for name, expiryOf := range map[string]func(rmw.Key, rmw.Value) time.Duration{"Key.TTL": keyExpiry, "WithTTL": ownExpiry} {
		t.Run(name, func(t *testing.T) {
			var all []int
			for seed := range uint64(seeds) {
				synctest.Test(t, func(t *testing.T) {
					if calls, found := callsUntil(t, startsExpiriesAnew(expiryOf), seed, limit, "free ttl "); found {
						all = append(all, calls)
					}
				})
			}
			slices.Sort(all)
			t.Logf("found in %d of %d runs, after %v calls", len(all), seeds, all)
			assert.GreaterOrEqual(t, len(all), seeds-1)
		})
	}
}

// Negative control: the same sessions on a path without a fault have no finding.
func TestKeptExpiryIsNoFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, found := callsUntil(t, rmwtest.NewMemory(), 1, 6000, "free "+string(report.TTLDiffers)+" ")
		assert.False(t, found)
	})
}
