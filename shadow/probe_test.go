package shadow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// reportOf plays traffic until a finding that blocks, for at most so many calls, and returns the report.
func reportOf(t *testing.T, candidate rmw.Store, calls int) *report.Report {
	t.Helper()
	s := shadow.New(rmwtest.NewMemory(), candidate, shadow.Config{Reads: 100})
	for ; calls > 0 && len(named(s.Report())) == 0; calls -= 8 * 50 {
		traffic(t, s, 8, 50, 8)
		pass(200 * time.Millisecond) // some 1,500 calls in a second
		require.NoError(t, s.Drain(t.Context()))
	}
	r := s.Report()
	require.NoError(t, s.Close())
	require.NoError(t, r.Check())
	return r
}

// Each fault that only the probes find is found within 20,000 calls.
func TestProbesFind(t *testing.T) {
	for i, m := range probedFaults() {
		run(t, m.name, func(t *testing.T) {
			if i%4 != 0 {
				long.Repeats(t)
			}
			r := reportOf(t, m.candidate, 20_000)
			assert.Contains(t, named(r), m.want)
			for _, s := range r.Samples[:min(len(r.Samples), 1)] {
				t.Logf("at call %s: %s", s.OpID[strings.Index(s.OpID, "#")+1:], s.Explain)
			}
			pass(3 * time.Hour) // goroutines that were left end
		})
	}
}

// Negative control: paths without a fault have no finding.
func TestProbesFindNothing(t *testing.T) { findNothing(t, 1600, 400) }

func TestLongProbesFindNothing(t *testing.T) {
	long.Only(t)
	findNothing(t, 20_000, 4000)
}

func findNothing(t *testing.T, calls, callsOfOwn int) {
	for name, candidate := range map[string]rmw.Store{
		"memory": rmwtest.NewMemory(), "fn is called twice": twice(), "expiries are rounded up": roundsExpiries(time.Second),
		"fn is called elsewhere": elsewhere(), "binary values are refused": refusesBinary(),
		"documents are encoded anew": editing(func(map[string]any) {}), "slower": delayed(time.Millisecond),
	} {
		run(t, name, func(t *testing.T) {
			if name != "memory" {
				long.Repeats(t)
			}
			r := reportOf(t, candidate, calls)
			assert.Empty(t, named(r), findingsOf(r))
		})
	}
	for name, of := range map[string]struct {
		profile *proxycompat.Profile
		open    func(rdb *redis.Client) rmw.Store
	}{
		"cas":        {proxycompat.Redis(), func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) }},
		"lockupdate": {proxycompat.Codis32(), func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) }},
	} {
		run(t, name, func(t *testing.T) {
			long.Repeats(t)
			proxy, err := proxytest.Start(proxytest.Config{Profile: of.profile, InMemory: true})
			require.NoError(t, err)
			rdb := redis.NewClient(proxy.Options())
			candidate := of.open(rdb)
			r := reportOf(t, candidate, callsOfOwn)
			assert.Empty(t, named(r), findingsOf(r))
			require.NoError(t, candidate.(interface{ Close() error }).Close())
			require.NoError(t, rdb.Close())
			require.NoError(t, proxy.Close())
		})
	}
}
