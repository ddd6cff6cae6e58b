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
func TestTheVerifierEndsWithTheStore(t *testing.T) {
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
			synctest.Wait()
			select {
			case <-over:
			default:
				t.Error("it waits for its next round")
			}
			_, err := s.Verify(t.Context())
			require.ErrorIs(t, err, rmw.ErrClosed)
			v := s.Report().Verify
			assert.Equal(t, 1, v.Rounds)
			assert.EqualValues(t, 1, v.Equal)
		})
	}
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
