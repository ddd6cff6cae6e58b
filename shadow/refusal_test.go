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
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// detailed is an error on which == panics, although its type has ==.
type detailed struct{ detail any }

func (detailed) Error() string { return "refused" }

// reasons is an error whose type has no ==.
type reasons []string

func (reasons) Error() string { return "refused" }

// A refusal of any type is compared, also one that errors.Is does not match.
func TestRefusalWithoutEquality(t *testing.T) {
	for name, of := range map[string]struct {
		candidate func() *mutant
		want      map[string]int64
	}{
		"no fault":         {func() *mutant { return &mutant{Memory: rmwtest.NewMemory()} }, map[string]int64{}},
		"forgets refusals": {forgetsRefusals, map[string]int64{"seeded error_class ": 1}},
		"renames refusals": {renamesRefusals, map[string]int64{"seeded error_class ": 1}},
	} {
		for _, refusal := range []error{detailed{[]string{"state", "closed"}}, reasons{"state", "closed"}} {
			run(t, fmt.Sprintf("%s/%T", name, refusal), func(t *testing.T) {
				s := open(t, rmwtest.NewMemory(), of.candidate(), shadow.Config{Sole: true})
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, refusal
				})
				require.IsType(t, refusal, err)
				r := drained(t, s)
				assert.Equal(t, of.want, named(r))
				assert.EqualValues(t, 1, compared(r, report.Seeded))
				assert.Zero(t, r.Health.Panics)
			})
		}
	}
}

// An outage that fn meets is no error of the candidate, and no refusal.
func TestOutageInFn(t *testing.T) {
	for _, own := range []error{rmw.ErrLockLost, fmt.Errorf("the agent: %w", rmw.ErrUnavailable), context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
			for range 50 {
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, own
				})
				require.ErrorIs(t, err, own)
				time.Sleep(time.Millisecond)
			}
			r := drained(t, s)
			assert.Empty(t, r.Health.Candidate.Errors)
			assert.Zero(t, r.Health.BreakerTrips)
			assert.Equal(t, map[report.Reason]int64{notcompared.PrimaryFailed: 50}, passed(r, report.Seeded))
		})
	}
}
