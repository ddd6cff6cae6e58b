package shadow_test

import (
	"context"
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

// The verifier ends with its Store, whatever its ctx, and its counts stay.
func TestVerifierEndsWithStore(t *testing.T) {
	for name, end := range map[string]func(s *shadow.Store){
		"closed": func(s *shadow.Store) { _ = s.Close() },
		"killed": func(s *shadow.Store) { s.Kill("the test is over") },
	} {
		run(t, name, func(t *testing.T) {
			s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
			increment(t, s, 1)
			require.NoError(t, s.Drain(t.Context()))
			over := make(chan struct{})
			go func() {
				s.VerifyEvery(context.Background(), time.Hour)
				close(over)
			}()
			synctest.Wait()
			end(s)
			began := time.Now()
			<-over
			assert.Zero(t, time.Since(began), "it waits for its next round")
			_, err := s.Verify(t.Context())
			require.ErrorIs(t, err, rmw.ErrClosed)
			v := s.Report().Verify
			assert.Equal(t, 1, v.Rounds)
			assert.EqualValues(t, 1, v.Equal)
		})
	}
}

// While a key is in doubt, the next round comes after a fifth of the interval.
func TestRoundsHurryInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := rmwtest.NewMemory()
		s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Sole: true})
		increment(t, s, 1)
		require.NoError(t, s.Drain(t.Context()))
		require.NoError(t, hidden.Set(t.Context(), counter(1).Name, rmw.String("spoilt"), time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		s.VerifyEvery(ctx, 5*time.Minute)
		v := s.Report().Verify
		assert.Equal(t, 2, v.Rounds)
		assert.NotEmpty(t, v.Findings)
	})
}

// A difference is a finding after the number of rounds in the guide.
func TestRoundsToAFinding(t *testing.T) {
	spoilt := func(t *testing.T, m *rmwtest.Memory) {
		require.NoError(t, m.Set(t.Context(), "k", rmw.String("spoilt"), time.Hour))
	}
	for name, test := range map[string]struct {
		spoil  func(t *testing.T, m *rmwtest.Memory) // before each round
		sole   bool
		ramped bool // the share of the keys has changed: calls may have gone by unseen before
		rounds int
	}{
		"a value":                 {spoilt, true, false, 2},
		"a value in a fleet":      {spoilt, false, false, 2},
		"an expiry":               {immortal, true, false, 4},
		"an expiry in a fleet":    {immortal, false, false, 8},
		"an expiry, after a ramp": {immortal, true, true, 6},
	} {
		run(t, name, func(t *testing.T) {
			hidden := rmwtest.NewMemory()
			s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Sole: test.sole})
			if test.ramped {
				require.NoError(t, s.SetPercent(100, "all"))
			}
			set(t, s, rmw.Key{Name: "k", TTL: time.Hour}, rmw.String(`{"rating":0}`))
			require.NoError(t, s.Drain(t.Context()))
			for round := range test.rounds {
				test.spoil(t, hidden)
				_, err := s.Verify(t.Context())
				require.NoError(t, err)
				assert.Equal(t, round+1 == test.rounds, len(named(s.Report())) > 0, "round %d", round+1)
			}
		})
	}
}

// immortal removes a key's expiry, like a path that loses it with each write.
func immortal(t *testing.T, m *rmwtest.Memory) {
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, m.Set(t.Context(), "k", v, rmw.NoTTL))
}

// A call of the serving path outside the shadow is a gap, and no finding.
func TestWriteOutsideTheShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serving := rmwtest.NewMemory()
		s := open(t, serving, rmwtest.NewMemory(), shadow.Config{Sole: true})
		set(t, s, rmw.Key{Name: "k"}, rmw.String("v"))
		verified(t, s, 1)
		require.NoError(t, serving.Set(t.Context(), "k", rmw.String("w"), rmw.NoTTL))
		v := verified(t, s, 3)
		assert.EqualValues(t, 1, v.Equal)
		assert.Equal(t, map[report.Class]int64{report.DriftGap: 1}, v.Findings)
	})
}

// Each process verifies its own keys only. A process without a verifier leaves the end state
// open.
func TestProcessWithoutVerifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		a := open(t, legacy, candidate, shadow.Config{Process: "a"})
		b := open(t, legacy, candidate, shadow.Config{Process: "b"})
		set(t, a, rmw.Key{Name: "of a"}, rmw.String("v"))
		set(t, b, rmw.Key{Name: "of b"}, rmw.String("v"))
		require.NoError(t, b.Drain(t.Context()))
		verified(t, a, 3)
		require.NoError(t, candidate.Set(t.Context(), "of b", rmw.String("stolen"), rmw.NoTTL))
		r, err := shadow.Merge(a.Report(), b.Report())
		require.NoError(t, err)
		assert.NotEmpty(t, why(r.Judge(report.Policy{}), "end state"))
	})
}

// A key beyond Config.Keys counts as evicted only if it was not verified before.
func TestVerifiedKeysMayBeEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true, Keys: 10})
		for i := range 30 {
			set(t, s, rmw.Key{Name: fmt.Sprint("session:", i), TTL: time.Minute}, rmw.String("v"))
			verified(t, s, 2) // each of them twice, before it goes
		}
		assert.Empty(t, why(s.Report().Judge(report.Policy{}), "end state"))
		assert.Zero(t, s.Report().Verify.Evicted)
		for i := range 30 {
			set(t, s, rmw.Key{Name: fmt.Sprint("session:", i), TTL: time.Minute}, rmw.String("w"))
		}
		verified(t, s, 1)
		assert.EqualValues(t, 20, s.Report().Verify.Evicted)
	})
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
