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

// The verifier ends with its Store, whatever ctx it was given, and what it found stands.
func TestTheVerifierEndsWithTheStore(t *testing.T) {
	for name, end := range map[string]func(s *shadow.Store){
		"closed": func(s *shadow.Store) { _ = s.Close() },
		"killed": func(s *shadow.Store) { s.Kill("the test is over") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
				_, err := s.Update(t.Context(), counter(1), add)
				require.NoError(t, err)
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
				_, err = s.Verify(t.Context())
				require.ErrorIs(t, err, rmw.ErrClosed)
				v := s.Report().Verify
				assert.Equal(t, 1, v.Rounds)
				assert.EqualValues(t, 1, v.Equal)
			})
		})
	}
}

func TestAnInvalidStoreHasNoVerifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Workers: -1})
		s.VerifyEvery(context.Background(), time.Hour) // it returns
		require.NoError(t, s.Close())
	})
}

// How many rounds it takes until a difference is one, as the guide says.
func TestRoundsToAFinding(t *testing.T) {
	spoilt := func(t *testing.T, m *rmwtest.Memory) {
		require.NoError(t, m.Set(t.Context(), "k", rmw.String("spoilt"), time.Hour))
	}
	for name, test := range map[string]struct {
		spoil  func(t *testing.T, m *rmwtest.Memory) // before each round
		sole   bool
		rounds int
	}{
		"a value":              {spoilt, true, 2},
		"a value in a fleet":   {spoilt, false, 2},
		"an expiry":            {immortal, true, 4},
		"an expiry in a fleet": {immortal, false, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hidden := rmwtest.NewMemory()
				s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{Sole: test.sole})
				_, err := s.Update(t.Context(), rmw.Key{Name: "k", TTL: time.Hour}, func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.String(`{"rating":0}`), nil
				})
				require.NoError(t, err)
				require.NoError(t, s.Drain(t.Context()))
				for round := range test.rounds {
					test.spoil(t, hidden)
					_, err := s.Verify(t.Context())
					require.NoError(t, err)
					assert.Equal(t, round+1 == test.rounds, blocks(s.Report()), "round %d", round+1)
				}
				require.NoError(t, s.Close())
			})
		})
	}
}

// immortal takes a key's expiry away, as a path does that loses them whenever it writes.
func immortal(t *testing.T, m *rmwtest.Memory) {
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, m.Set(t.Context(), "k", v, rmw.NoTTL))
}

func blocks(r *report.Report) bool {
	for class := range r.Verify.Findings {
		if class.Blocks() {
			return true
		}
	}
	return false
}

// Each process knows its own keys only: those of one that does not verify are verified by
// nobody.
func TestKeysThatNobodyVerifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		a := shadow.New(legacy, candidate, shadow.Config{Process: "a"})
		b := shadow.New(legacy, candidate, shadow.Config{Process: "b"})
		set(t, a, rmw.Key{Name: "of a"}, rmw.String("v"))
		set(t, b, rmw.Key{Name: "of b"}, rmw.String("v"))
		require.NoError(t, b.Drain(t.Context()))
		verified(t, a, 3)
		require.NoError(t, candidate.Set(t.Context(), "of b", rmw.String("stolen"), rmw.NoTTL))
		r, err := shadow.Merge(a.Report(), b.Report())
		require.NoError(t, err)
		for _, g := range r.Judge(report.Policy{}).Gates {
			if g.Name == "end state" {
				assert.NotEqual(t, report.Ready, g.State, "%+v", g)
			}
		}
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
}

// Sessions come and go. Once there were more than Config.Keys of them, those count that
// were not verified before they went.
func TestKeysThatWereVerifiedMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true, Keys: 10})
		for i := range 30 {
			set(t, s, rmw.Key{Name: fmt.Sprint("session:", i), TTL: time.Minute}, rmw.String("v"))
			verified(t, s, 2) // each of them twice, before it goes
		}
		for _, g := range s.Report().Judge(report.Policy{}).Gates {
			if g.Name == "end state" {
				assert.Equal(t, report.Ready, g.State, "%+v", g)
			}
		}
		assert.Zero(t, s.Report().Verify.Evicted)
		for i := range 30 {
			set(t, s, rmw.Key{Name: fmt.Sprint("session:", i), TTL: time.Minute}, rmw.String("w"))
		}
		verified(t, s, 1)
		assert.EqualValues(t, 20, s.Report().Verify.Evicted)
		require.NoError(t, s.Close())
	})
}
