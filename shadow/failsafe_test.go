package shadow_test

import (
	"maps"
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

// A hidden path that ignores its ctx blocks its workers, but no caller and no verifier.
func TestPathIgnoresItsCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		hidden := keyed(func(key rmw.Key) rmw.Key { <-end; return key })
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{QueueCalls: 50, Workers: 2, Sole: true})
		began := time.Now()
		calls(t, s, 200, 2)
		synctest.Wait()
		_, err := s.Verify(t.Context())
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "neither a caller nor the verifier waits")
		time.Sleep(time.Hour)
		r := s.Report()
		addsUp(t, r)
		assert.EqualValues(t, 50, r.Health.Queue)
		assert.NotEqual(t, report.Ready, r.Judge(report.Policy{}).State)
		require.ErrorContains(t, s.Close(), "does not end although its ctx has")
		close(end)
		synctest.Wait()
		addsUp(t, s.Report())
	})
}

// A store that fails over to a replica loses its last acknowledged writes.
func TestFailoverLosesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		candidate := rmwtest.NewMemory()
		s := open(t, rmwtest.NewMemory(), candidate, shadow.Config{Sole: true})
		keys := []string{"n:1", "~free:{n:1}"}
		replica := map[string]rmw.Value{}
		for i := range 20 {
			increment(t, s, 1)
			time.Sleep(time.Millisecond)
			if i == 10 {
				for _, key := range keys {
					v, _, err := candidate.Get(t.Context(), key)
					require.NoError(t, err)
					replica[key] = v
				}
			}
		}
		for key, v := range maps.All(replica) {
			require.NoError(t, candidate.Set(t.Context(), key, v, rmw.NoTTL))
		}
		verified(t, s, 3)
		found := named(s.Report())
		assert.Contains(t, found, "verifier foreign_write ", found)
	})
}

// Negative control of TestNoFaultNoFinding: with the same disturbances, a store that loses
// acknowledged writes is found.
func TestDisturbancesHideNoFault(t *testing.T) {
	found := map[string]int64{}
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(seed+1, func(d *distant) { d.forget = 30 })
			s.traffic(t)
			for _, p := range s.fleet {
				for what, n := range named(p.Report()) {
					found[what] += n
				}
				p.Kill("the test is over")
			}
		})
	}
	assert.Contains(t, found, "seeded lost_write ")
	assert.Contains(t, found, "free lost_update ")
}
