package shadow_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
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

// Whole keys are sampled, the same ones in every process. When the share grows, they stay
// in it.
func TestKeysAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sampled := func(percent float64) map[string]bool {
			var mu sync.Mutex
			in := map[string]bool{}
			hidden := before(func(_ context.Context, key rmw.Key) error {
				mu.Lock()
				defer mu.Unlock()
				_, name, _ := strings.Cut(key.Name, "{")
				name, _, _ = strings.Cut(name, "}")
				in[name] = true
				return nil
			})
			s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Off: true})
			require.NoError(t, s.SetPercent(percent, "a test"))
			calls(t, s, 2000, 2000)
			drained(t, s)
			return in
		}
		before := map[string]bool{}
		for _, percent := range []float64{0, 1, 10, 50, 100} {
			in := sampled(percent)
			assert.Equal(t, in, sampled(percent), "the same in every process")
			assert.Subset(t, in, before)
			assert.InDelta(t, 20*percent, len(in), 60)
			before = in
		}
	})
}

func TestPercentIsChecked(t *testing.T) {
	s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{})
	for _, percent := range []float64{-1, 101} {
		require.ErrorIs(t, s.SetPercent(percent, ""), rmw.ErrInvalid)
	}
	require.NoError(t, s.SetPercent(0, "rest"))
	r := s.Report()
	assert.Equal(t, "off", r.Mode)
	assert.Equal(t, report.Mark{At: r.Marks[0].At, What: "0 % of the keys", Why: "rest"}, r.Marks[0])
	require.NoError(t, s.SetPercent(5, "go on"))
	assert.Equal(t, "shadow", s.Report().Mode)
	assert.InDelta(t, 5, s.Report().Percent, 0.001)
	require.NoError(t, s.SetPercent(0.001, "hardly any"))
	assert.Equal(t, "shadow", s.Report().Mode, "the least there is, and not none")
}

// The report of an A/A run calibrates the next run.
func TestCalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aa := verdictOn(t, rmwtest.NewMemory(), shadow.Config{AA: true})
		assert.True(t, aa.AA)
		ab := verdictOn(t, rmwtest.NewMemory(), shadow.Config{Calibration: aa})
		require.NotNil(t, ab.Calibration)
		assert.Zero(t, ab.Calibration.Blocking)
		assert.Positive(t, ab.Calibration.Compared)

		noisy := verdictOn(t, dropsZeroFields(), shadow.Config{AA: true})
		ab = verdictOn(t, rmwtest.NewMemory(), shadow.Config{Calibration: noisy})
		assert.Positive(t, ab.Calibration.Blocking)
		assert.Equal(t, report.NotReady, ab.Judge(report.Policy{}).State, "its calibration was noisy")
	})
}

// A short run is ready by a policy with low limits.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := report.Policy{Rate: 0.05, Keys: -1, Contended: -1, Uncalibrated: true, Errors: 0.01, LockTimeouts: 0.01}
		r := verdictAfter(t, 1000, rmwtest.NewMemory(), shadow.Config{Policy: policy})
		v := r.Judge(report.Policy{}) // by Config.Policy
		assert.Equal(t, report.Ready, v.State, "%+v", v)
	})
}

// Collect merges the published reports of a fleet.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		var fleet []*shadow.Store
		for i := range 3 {
			s := open(t, legacy, candidate, shadow.Config{Name: "test", Process: "p" + strconv.Itoa(i)})
			fleet = append(fleet, s)
			traffic(t, s, 2, 50, 3)
			require.NoError(t, s.Drain(t.Context()))
		}
		_, err := shadow.Collect(t.Context(), candidate, "shadow:test")
		require.ErrorContains(t, err, "no process")
		for range 2 {
			for _, s := range fleet {
				require.NoError(t, s.Publish(t.Context(), candidate, "shadow:test"))
			}
		}
		r, err := shadow.Collect(t.Context(), candidate, "shadow:test")
		require.NoError(t, err)
		require.NoError(t, r.Check())
		assert.Len(t, r.Processes, 3)
		assert.Empty(t, named(r))
		var sum int64
		for _, s := range fleet {
			sum += compared(s.Report(), report.Seeded)
		}
		assert.Equal(t, sum, compared(r, report.Seeded))

		require.ErrorIs(t, fleet[0].Publish(t.Context(), rmw.Chain(fleet[1]), "p"), rmw.ErrInvalid, "it would be shadowed")
		time.Sleep(11 * time.Minute)
		require.NoError(t, fleet[1].Publish(t.Context(), candidate, "shadow:test"))
		r, err = shadow.Collect(t.Context(), candidate, "shadow:test")
		require.NoError(t, err)
		assert.Len(t, r.Processes, 1, "the reports of the others have expired")
	})
}

// The list of processes is bounded, although each restart adds a name.
func TestFleetIsOftenRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stayed, store := shadow.New(nil, nil, shadow.Config{Process: "stayed"}), rmwtest.NewMemory()
		for i := range 1100 {
			s := shadow.New(nil, nil, shadow.Config{Process: "p" + strconv.Itoa(i)})
			require.NoError(t, s.Publish(t.Context(), store, "fleet"))
			require.NoError(t, stayed.Publish(t.Context(), store, "fleet"))
			time.Sleep(time.Minute)
		}
		list, err := store.Read(t.Context(), rmw.Key{Name: "fleet"})
		require.NoError(t, err)
		assert.Len(t, strings.Fields(list.Text()), 1000)
		r, err := shadow.Collect(t.Context(), store, "fleet")
		require.NoError(t, err)
		assert.Len(t, r.Processes, 10, "nine have published in the last ten minutes, and the one that stayed")
	})
}

// A report shows no value and no key's name unless Config permits it. Domain.Keys declares the names of a small
// map of plain words as data: then no report has them.
func TestReportsAreRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := func(cfg shadow.Config) string {
			s := open(t, rmwtest.NewMemory(), editing(func(doc map[string]any) {
				doc["phone"], doc["plan"], doc["unread"] = "0000", "gone", map[string]any{"anna": 7}
			}), cfg)
			key := rmw.Key{Name: "visitor:secretname", Label: "visitor"}
			set(t, s, key, rmw.String(`{"phone":"+4179secretphone","plan":"goldplan","zeroed":0,"unread":{"anna":1}}`))
			var text strings.Builder
			require.NoError(t, drained(t, s).WriteJSON(&text, report.Policy{}))
			return text.String()
		}
		text := told(shadow.Config{})
		for _, secret := range []string{"secretname", "secretphone", "goldplan"} {
			assert.NotContains(t, text, secret)
		}
		assert.Contains(t, text, `"phone"`, "the report shows the path")
		assert.Contains(t, text, "unread.anna")
		text = told(shadow.Config{
			RedactKey: func(key rmw.Key) string { return fmt.Sprintf("key of %s", key.Label) },
			Domains:   map[string]shadow.Domain{"visitor": {Show: []string{"plan"}, Keys: []string{"unread.*"}}},
		})
		for _, shown := range []string{"key of visitor", "goldplan", "unread.*"} {
			assert.Contains(t, text, shown)
		}
		assert.NotContains(t, text, "secretphone")
		assert.NotContains(t, text, "anna")
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), dropsZeroFields(), shadow.Config{})
		s.Reset("ticket", "mistyped")
		assert.Empty(t, s.Report().Operations, "an operation without a call is not created")
		traffic(t, s, 2, 50, 3)
		r := drained(t, s)
		require.NotEmpty(t, named(r))
		for _, op := range r.Operations {
			s.Reset(op.Domain, op.Name)
		}
		r = reported(t, s)
		assert.Empty(t, named(r))
		assert.Zero(t, compared(r, report.Seeded))
	})
}
