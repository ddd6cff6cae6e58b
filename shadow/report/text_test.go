package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func TestWriteText(t *testing.T) {
	r, fleet := reporttest.NotReady(), reporttest.Fleet()
	r.Mode, r.Build, r.Percent, r.Processes = fleet.Mode, fleet.Build, fleet.Percent, fleet.Processes
	r.Health.Breaker, r.Health.BreakerTrips = fleet.Health.Breaker, fleet.Health.BreakerTrips
	for name, r := range map[string]*report.Report{"not-ready.txt": r, "empty.txt": reporttest.Empty()} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, r.WriteText(&out, report.Policy{}))
			golden(t, name, out.String())
			narrow(t, out.String())
		})
	}
}

// narrow requires lines of at most 80 columns without trailing blanks and escape sequences.
func narrow(t require.TestingT, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		assert.Equal(t, strings.TrimRight(line, " "), line)
	}
	assert.NotContains(t, text, "\x1b")
}

func TestNoLineIsTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out strings.Builder
		r := drawReport(t, "r")
		require.NoError(t, r.WriteText(&out, report.Policy{}))
		narrow(t, out.String())
		assert.True(t, strings.HasPrefix(out.String(), strings.ToUpper(string(r.Judge(report.Policy{}).State))))
	})
}

func TestTextOfHostileReport(t *testing.T) {
	r := reporttest.NotReady()
	long := strings.Repeat("long", 60)
	op := closing(r)
	op.Domain, op.Name = "ein-\x1b[31mSchlüssel-"+long, "操作"+long
	op.Outcomes = map[string]int64{long: 1}
	tally := op.Tallies[report.Seeded]
	tally.NotCompared[report.Reason("of_a_later_version_"+long)] = 9e18
	op.Tallies[report.Seeded] = tally
	r.Name, r.Build, r.Mode = long+"\n"+long, long, long
	r.Samples[0].Explain, r.Samples[0].Key, r.Samples[0].Process = long, "\xff\x00"+long, long
	r.Processes = append(r.Processes, report.Process{Name: long, Asked: long, Mode: long, Reason: long})
	var out strings.Builder
	require.NoError(t, r.WriteText(&out, report.Policy{}))
	narrow(t, out.String())
	assert.Contains(t, out.String(), "Does not add up")
	assert.Contains(t, out.String(), "..")
}
