package report_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func asJSON(t require.TestingT, r *report.Report) string {
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return string(text)
}

func merged(t require.TestingT, reports ...*report.Report) *report.Report {
	r, err := report.Merge(reports...)
	require.NoError(t, err)
	return r
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	long.Repeats(t) // one goroutine
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawReport(t, "a"), drawReport(t, "b"), drawReport(t, "c")
		before := asJSON(t, a) + asJSON(t, b) + asJSON(t, c)

		all := merged(t, a, b, c)
		require.NoError(t, all.Check(), "the accounting is kept")
		want := asJSON(t, all)
		assert.Equal(t, want, asJSON(t, merged(t, a, merged(t, b, c))), "associative")
		assert.Equal(t, want, asJSON(t, merged(t, merged(t, a, b), c)), "associative")
		assert.Equal(t, want, asJSON(t, merged(t, c, b, a)), "commutative")
		assert.Equal(t, before, asJSON(t, a)+asJSON(t, b)+asJSON(t, c), "nothing that was merged has changed")

		alone := merged(t, a)
		assert.Equal(t, a.Judge(report.Policy{}).State, alone.Judge(report.Policy{}).State)
		assert.Equal(t, a.Judge(report.Policy{}).Headline, alone.Judge(report.Policy{}).Headline)
		assert.Equal(t, asJSON(t, alone), asJSON(t, merged(t, alone)), "and once is enough")
	})
}

func TestMergeAddsUp(t *testing.T) {
	a, b := reporttest.NotReady(), reporttest.Ready()
	b.Name, b.Build, b.Mode, b.Percent = "too", "b7702ad", "off", 50
	b.Started, b.Taken = b.Started.Add(-time.Hour), b.Taken.Add(-time.Hour)
	b.Processes[0].Name = "desk-1"
	b.Processes = append(b.Processes, report.Process{Name: "desk-0", Mode: "off", Seen: a.Started})
	b.Health.Breaker, b.Health.QueueMost = "open", 3
	b.Calibration.Taken = b.Calibration.Taken.Add(-time.Hour)
	b.Calibration.Blocking = 9
	b.Marks[0].What = "another"
	b.Keys = []report.DirtyKey{
		{Key: "cs:session:{~4be1}", Domain: "session", Count: 4, Class: report.TTLDiffers, First: b.Started, OpID: "earlier"},
	}
	m := merged(t, a, b)

	assert.Equal(t, "4f1c2e9,b7702ad", m.Build)
	assert.Equal(t, "customer service,too", m.Name)
	assert.Equal(t, "mixed", m.Mode)
	assert.EqualValues(t, 50, m.Percent)
	assert.Equal(t, b.Started, m.Started)
	assert.Equal(t, a.Taken, m.Taken)
	assert.Len(t, m.Operations, 5)
	op := closing(m)
	assert.Equal(t, 2*closing(b).Tallies[report.Seeded].Eligible, op.Tallies[report.Seeded].Eligible)
	assert.EqualValues(t, 680, op.Outcomes["session_closed"])
	assert.Equal(t, closing(a).Keys, op.Keys, "the same keys count once")
	assert.EqualValues(t, 8_000, op.Legacy.Count())
	assert.Equal(t, closing(a).Legacy.Quantile(0.9), op.Legacy.Quantile(0.9))
	assert.Equal(t, "open", m.Health.Breaker)
	assert.EqualValues(t, 188, m.Health.QueueMost)
	assert.EqualValues(t, 6, m.Health.Queue)
	assert.Equal(t, a.Calibration, m.Calibration, "the newest")
	assert.Len(t, m.Marks, 3, "what both have noted is there once")
	assert.Equal(t, []string{"desk-0", "desk-1"}, []string{m.Processes[0].Name, m.Processes[1].Name})
	assert.Equal(t, "shadow", m.Processes[0].Mode, "the newest")
	assert.Equal(t, report.DirtyKey{
		Key: "cs:session:{~4be1}", Domain: "session", Count: 5, Class: report.TTLDiffers, First: b.Started, OpID: "earlier",
	}, m.Keys[0])
}

func TestMergeKeepsTheFirstSamplesOfEachKind(t *testing.T) {
	var reports []*report.Report
	for i := range 4 {
		r := reporttest.Empty()
		for j := range 3 {
			at := r.Started.Add(time.Duration(10*j+i) * time.Second)
			for _, path := range []string{"rating", "note"} {
				r.Samples = append(r.Samples, report.Sample{
					Class: report.ValueDiffers, At: at, OpID: fmt.Sprint(i, j), Differences: []report.Difference{{Path: path}},
				})
			}
		}
		reports = append(reports, r)
	}
	slices.Reverse(reports)
	m := merged(t, reports...)
	ids := map[string][]string{}
	for _, s := range m.Samples {
		ids[s.Differences[0].Path] = append(ids[s.Differences[0].Path], s.OpID)
	}
	assert.Equal(t, map[string][]string{
		"rating": {"0 0", "1 0", "2 0", "3 0", "0 1"},
		"note":   {"0 0", "1 0", "2 0", "3 0", "0 1"},
	}, ids)
}

func TestMergeRefusesOtherReports(t *testing.T) {
	_, err := report.Merge()
	require.ErrorContains(t, err, "nothing to merge")
	later := reporttest.Empty()
	later.Schema = 3
	_, err = report.Merge(reporttest.Empty(), later)
	require.ErrorContains(t, err, `"customer service" of desk-0 has schema 3, this program merges 2`)
	aa := reporttest.Empty()
	aa.AA, aa.Processes = true, nil
	_, err = report.Merge(reporttest.Empty(), aa)
	require.ErrorContains(t, err, `one of "customer service" of desk-0 and "customer service" is an A/A run`)
}

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

// The worst process of a fleet decides.
func TestMergeKeepsTheWorstPeak(t *testing.T) {
	good, bad, idle := reporttest.Ready(), reporttest.Ready(), reporttest.Ready()
	good.Peak = peakOf(minute(0, 900, 0))
	bad.Peak = peakOf(minute(0, 40, 0), minute(1, 99, 1))
	idle.Peak = report.Peak{}
	for _, order := range [][]*report.Report{{good, bad, idle}, {idle, bad, good}, {bad, idle, good}} {
		assert.Equal(t, bad.Peak, merged(t, order...).Peak)
	}
}
