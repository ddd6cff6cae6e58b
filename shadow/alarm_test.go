package shadow_test

import (
	"fmt"
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

// Cases that were once false alarms. TestNoFaultNoFinding found most of them.

// verified runs rounds of the verifier, a minute apart, and returns the last one.
func verified(t *testing.T, s *shadow.Store, rounds int) (last report.Verify) {
	t.Helper()
	drained(t, s)
	for range rounds {
		var err error
		last, err = s.Verify(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Minute)
	}
	return last
}

// quiet fails if a call has a finding, after all are compared.
func quiet(t *testing.T, s *shadow.Store) *report.Report {
	t.Helper()
	r := drained(t, s)
	assert.Empty(t, named(r), findingsOf(r))
	return r
}

// A restarted container has the same name and restarts its counters.
func TestRestartedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		for range 2 {
			s := open(t, legacy, candidate, shadow.Config{Process: "pod:1"})
			calls(t, s, 20, 1)
			quiet(t, s)
			require.NoError(t, s.Close())
		}
	})
}

func TestKeyChangesItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
		for range 3 {
			set(t, s, rmw.Key{Name: "k"}, rmw.String("v"))
			set(t, s, rmw.Key{Name: "k"}, rmw.Value{})
			set(t, s, rmw.Key{Name: "k", Kind: rmw.KindHash}, rmw.Hash(map[string]string{"f": "v"}))
			set(t, s, rmw.Key{Name: "k", Kind: rmw.KindHash}, rmw.Value{})
		}
		assert.EqualValues(t, 1, verified(t, s, 1).Equal)
		quiet(t, s)
	})
}

// delayed is a path that answers an update late.
func delayed(by time.Duration) *mutant {
	return after(func(*mutant, rmw.Key, *rmw.Result) { time.Sleep(by) })
}

// The expiry of a scratch key runs from its write, not from the reply to it.
func TestSlowSeed(t *testing.T) {
	for _, of := range []struct{ by, tolerance time.Duration }{
		{300 * time.Millisecond, 100 * time.Millisecond}, {3 * time.Second, 0}, {40 * time.Second, 0}, {2 * time.Minute, 0},
	} {
		run(t, of.by.String(), func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), delayed(of.by), shadow.Config{
				Sole: true, Reads: 100, Timeout: time.Hour, Domains: map[string]shadow.Domain{"n": {TTLTolerance: of.tolerance}},
			})
			for range 3 {
				increment(t, s, 1)
				_, err := s.Read(t.Context(), counter(1))
				require.NoError(t, err)
				time.Sleep(10 * time.Minute)
			}
			quiet(t, s)
		})
	}
}

// One process mirrors a value, and drops the call that restores the value before. The other
// process sees an unchanged value in the old store, and an unknown one in the new store. That
// is no finding, also while the rules of a domain change, process by process: a value whose
// digest depends on the old rules is not foreign. A value written by hand is.
func TestGapOfAnotherProcess(t *testing.T) {
	for name, of := range map[string]struct {
		domains  map[string]shadow.Domain
		restored string
	}{
		"the same rules": {nil, `{"state":"free","seen":1}`},
		"other rules":    {map[string]shadow.Domain{"": {Ignore: []string{"seen"}}}, `{"state":"free","seen":3}`},
	} {
		run(t, name, func(t *testing.T) {
			legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
			a := open(t, legacy, candidate, shadow.Config{Process: "a"})
			b := open(t, legacy, candidate, shadow.Config{Process: "b", Domains: of.domains})
			key := rmw.Key{Name: "seat"}
			set(t, b, key, rmw.String(`{"state":"free","seen":1}`))
			drained(t, b)
			set(t, a, key, rmw.String(`{"state":"held","seen":2}`))
			drained(t, a)
			require.NoError(t, a.SetPercent(0, "too much load"))
			set(t, a, key, rmw.String(of.restored))
			assert.EqualValues(t, 1, verified(t, b, 3).Equal)
			assert.Empty(t, named(b.Report()), findingsOf(b.Report()))
			require.NoError(t, candidate.Set(t.Context(), key.Name, rmw.String(`{"state":"stolen"}`), rmw.NoTTL))
			verified(t, b, 3)
			found := named(b.Report())
			assert.Contains(t, found, "verifier foreign_write state")
			delete(found, "verifier foreign_write state")
			delete(found, "verifier foreign_write seen") // under the same rules
			assert.Empty(t, found)
		})
	}
}

// Calls outside the shadow may extend an expiry again and again. The hidden path's expiry
// stays behind, which is no fault.
func TestExpiryIsExtendedUnseen(t *testing.T) {
	for _, sole := range []bool{true, false} {
		for name, share := range map[string]func(i int) float64{
			"off":          func(int) float64 { return 0 },
			"now and then": func(i int) float64 { return float64(i%2) * 100 },
		} {
			run(t, fmt.Sprint(name, sole), func(t *testing.T) {
				s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: sole})
				key := rmw.Key{Name: "session", TTL: 30 * time.Minute}
				set(t, s, key, rmw.String("v"))
				require.NoError(t, s.Drain(t.Context()))
				for i := range 40 {
					require.NoError(t, s.SetPercent(0, "too much load"))
					time.Sleep(time.Minute)
					set(t, s, key, rmw.String("v").WithTTL(30*time.Minute))
					require.NoError(t, s.SetPercent(share(i), "less load"))
					_, err := s.Verify(t.Context())
					require.NoError(t, err)
				}
				quiet(t, s)
			})
		}
	}
}
