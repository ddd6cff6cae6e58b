package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// Read refuses a file, or returns a report that can be checked, judged, shown and merged.
func FuzzRead(f *testing.F) {
	for _, r := range []*report.Report{reporttest.Empty(), reporttest.Ready()} {
		r.Operations = r.Operations[:min(len(r.Operations), 1)]
		r.Timeline = nil
		var out bytes.Buffer
		require.NoError(f, r.WriteJSON(&out, report.Policy{}))
		f.Add(out.Bytes())
	}
	f.Add([]byte(`{"schema":1,"operations":[{"tallies":{"seeded":{"eligible":-1,"compared":9223372036854775807,
		"classes":{"value":9223372036854775807,"ttl":5}}},"findings":[{"comparator":"seeded","class":"value","count":-9}]}],
		"health":{"candidate":{"calls":9223372036854775807,"errors":{"x":9223372036854775807,"contended":3}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := report.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		known := report.Policy{Known: []report.Known{{Class: report.ValueDiffers, Why: "fixed"}}}
		if r.Check() != nil {
			require.Equal(t, report.NotReady, r.Judge(known).State)
		}
		require.NoError(t, r.WriteText(io.Discard, known))
		scrape(t, metricsOf(t, r))
		m, err := report.Merge(r, r)
		require.NoError(t, err)
		m.Judge(report.Policy{})
	})
}
