package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func minute(at int, compared, dropped int64) report.Minute {
	return report.Minute{
		At: reporttest.Start().Add(time.Duration(at) * time.Minute), Compared: compared, NotCompared: dropped, Dropped: dropped,
	}
}

func peakOf(minutes ...report.Minute) (p report.Peak) {
	for _, m := range minutes {
		p.Add(m)
	}
	return p
}

// The gate needs comparisons in a busy minute.
func TestPeakGate(t *testing.T) {
	for name, test := range map[string]struct {
		peak   report.Peak
		policy report.Policy
		state  report.State // "" for no gate
	}{
		"no minute yet":              {state: report.NotEnoughData},
		"no drop":                    {peak: peakOf(minute(0, 10, 0), minute(1, 90, 0)), state: report.Ready},
		"a drop whenever it is busy": {peak: peakOf(minute(0, 79, 0), minute(1, 99, 1)), state: report.NotEnoughData},
		"once nearly as busy":        {peak: peakOf(minute(0, 80, 0), minute(1, 99, 1)), state: report.Ready},
		"drops when it is quiet":     {peak: peakOf(minute(0, 9, 1), minute(1, 99, 0)), state: report.Ready},
		"the policy asks for more": {
			peak: peakOf(minute(0, 80, 0), minute(1, 99, 1)), policy: report.Policy{Peak: 1}, state: report.NotEnoughData,
		},
		"the policy asks for none": {peak: peakOf(minute(1, 99, 1)), policy: report.Policy{Peak: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reporttest.Ready()
			r.Peak = test.peak
			v := r.Judge(test.policy)
			var found report.State
			for _, g := range v.Gates {
				if g.Name == "peak" {
					found = g.State
					if g.State != report.Ready {
						assert.NotEmpty(t, g.Why)
					}
				}
			}
			require.Equal(t, test.state, found)
			if test.state == "" {
				test.state = report.Ready
			}
			assert.Equal(t, test.state, v.State)
		})
	}
}

// The worst process of a fleet decides.
func TestMergeKeepsTheWorstPeak(t *testing.T) {
	good, bad, idle := reporttest.Ready(), reporttest.Ready(), reporttest.Ready()
	good.Peak = peakOf(minute(0, 900, 0))
	bad.Peak = peakOf(minute(0, 40, 0), minute(1, 99, 1))
	idle.Peak = report.Peak{}
	for _, order := range [][]*report.Report{{good, bad, idle}, {idle, bad, good}, {bad, idle, good}} {
		r, err := report.Merge(order...)
		require.NoError(t, err)
		assert.Equal(t, bad.Peak, r.Peak)
	}
}
