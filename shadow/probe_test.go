package shadow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// findingOf plays traffic until a finding that blocks, for at most so many calls, and returns the report.
func findingOf(t *testing.T, candidate rmw.Store, calls int) *report.Report {
	t.Helper()
	s := shadow.New(rmwtest.NewMemory(), candidate, shadow.Config{Reads: 100})
	for ; calls > 0 && len(named(s.Report())) == 0; calls -= 8 * 50 {
		traffic(t, s, 8, 50, 8)
		time.Sleep(200 * time.Millisecond) // some 1,500 calls in a second
		require.NoError(t, s.Drain(t.Context()))
	}
	r := s.Report()
	require.NoError(t, s.Close())
	require.NoError(t, r.Check())
	return r
}

// Each fault that only the probes find is found within 20,000 calls.
func TestProbesFind(t *testing.T) {
	for _, m := range probedFaults() {
		run(t, m.name, func(t *testing.T) {
			r := findingOf(t, m.candidate, 20_000)
			assert.Contains(t, named(r), m.want)
			for _, s := range r.Samples[:min(len(r.Samples), 1)] {
				t.Logf("at call %s: %s", s.OpID[strings.Index(s.OpID, "#")+1:], s.Explain)
			}
			time.Sleep(2 * time.Hour) // leaked goroutines end
		})
	}
}

// Negative control: paths without a fault have no finding.
func TestProbesFindNothing(t *testing.T) {
	for name, candidate := range map[string]rmw.Store{
		"memory": rmwtest.NewMemory(), "fn is called twice": twice(), "expiries are rounded up": roundsExpiries(time.Second),
		"slower": delayed(time.Millisecond), "guarded": guardedBy(func(read, now, _ rmw.Value) bool { return now.Equal(read) }),
	} {
		run(t, name, func(t *testing.T) {
			r := findingOf(t, candidate, 20_000)
			assert.Empty(t, named(r), findingsOf(r))
		})
	}
}
