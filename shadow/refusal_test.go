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

// detailed is an error that == panics of, although its type compares.
type detailed struct{ detail any }

func (detailed) Error() string { return "refused" }

// A refusal may be of any type: neither its caller nor the shadow stumbles over it.
func TestRefusalsThatDoNotCompare(t *testing.T) {
	for name, of := range map[string]struct {
		candidate *mutant
		want      map[string]int64
	}{
		"sound":            {&mutant{Memory: rmwtest.NewMemory()}, map[string]int64{}},
		"forgets refusals": {forgetsRefusals(), map[string]int64{"seeded error_class ": 1}},
		"renames refusals": {renamesRefusals(), map[string]int64{"seeded error_class ": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shadow.New(rmwtest.NewMemory(), of.candidate, shadow.Config{Sole: true})
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, detailed{[]string{"what", "and", "why"}}
				})
				require.IsType(t, detailed{}, err)
				require.NoError(t, s.Drain(t.Context()))
				r := s.Report()
				addsUp(t, r)
				assert.Equal(t, of.want, named(r))
				assert.EqualValues(t, 1, compared(r, report.Seeded))
				assert.Zero(t, r.Health.Panics)
				require.NoError(t, s.Close())
			})
		})
	}
}

// An fn that fails for want of a store, or of a lease, says nothing of the candidate's.
func TestAnOutageThatFnMeets(t *testing.T) {
	for _, own := range []error{rmw.ErrLockLost, fmt.Errorf("the agent: %w", rmw.ErrUnavailable)} {
		synctest.Test(t, func(t *testing.T) {
			s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
			for range 50 {
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, own
				})
				require.ErrorIs(t, err, own)
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, s.Drain(t.Context()))
			r := s.Report()
			addsUp(t, r)
			assert.Empty(t, r.Health.Candidate.Errors)
			assert.Zero(t, r.Health.BreakerTrips)
			assert.Equal(t, map[report.Reason]int64{report.PrimaryFailed: 50}, passed(r, report.Seeded))
			require.NoError(t, s.Close())
		})
	}
}
