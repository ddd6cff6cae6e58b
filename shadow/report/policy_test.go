package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func TestPolicySurvivesARoundTrip(t *testing.T) {
	want := report.Policy{
		Rate: 1e-3, Confidence: 0.99, Keys: -1, LatencySlack: 2 * time.Millisecond, RTT: 300 * time.Microsecond,
		Lag: 2 * time.Second, Silence: time.Minute, Uncalibrated: true,
		Known: []report.Known{{Domain: "session", Operation: "close", Class: report.ValueDiffers, Path: "rating", Why: "fixed in 4f1c2e9"}},
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"latencySlack":"2ms"`)
	var got report.Policy
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want, got)
	require.NoError(t, json.Unmarshal([]byte("{}"), &got))
	assert.Equal(t, report.Policy{}, got)

	for text, want := range map[string]string{
		`{"rates": 1}`:          `unknown field "rates"`,
		`{"rounds": 2}`:         `unknown field "rounds"`,
		`{"lag": 3}`:            "cannot unmarshal number",
		`{"lag": "3 parsecs"}`:  "3 parsecs",
		`{"known": [{"p": 1}]}`: `unknown field "p"`,
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &got), want)
	}
}

func TestPolicyValidate(t *testing.T) {
	require.NoError(t, report.Policy{}.Validate())
	require.NoError(t, report.Policy{Keys: -1, Contended: -1, Outcomes: -1}.Validate())
	known := report.Known{Domain: "session", Operation: "close", Class: report.ValueDiffers, Why: "fixed"}
	require.NoError(t, report.Policy{Known: []report.Known{known}}.Validate())
	with := func(change func(*report.Known)) report.Policy {
		k := known
		change(&k)
		return report.Policy{Known: []report.Known{known, k}}
	}
	for want, p := range map[string]report.Policy{
		"rate is 1:":                     {Rate: 1},
		"rate is -1:":                    {Rate: -1},
		"rate is NaN":                    {Rate: math.NaN()},
		"want at least 1e-9":             {Rate: 1e-12},
		"notCompared is 2":               {NotCompared: 2},
		"errors is 1":                    {Errors: 1},
		"lockTimeouts is -1":             {LockTimeouts: -1},
		"confidence is 95":               {Confidence: 95},
		"confidence is NaN":              {Confidence: math.NaN()},
		"latencyFactor is":               {LatencyFactor: 0.2},
		"lag is -1s":                     {Lag: -time.Second},
		"silence is -1s":                 {Silence: -time.Second},
		"does not block":                 with(func(k *report.Known) { k.Class = report.EncodingOnly }),
		"known 2 (value): set why":       with(func(k *report.Known) { k.Why = "" }),
		"known 2 (value): set operation": with(func(k *report.Known) { k.Operation = "" }),
	} {
		assert.ErrorContains(t, p.Validate(), want)
	}
	err := report.Policy{Rate: 3, Confidence: 95}.Validate()
	assert.ErrorContains(t, err, "rate is 3")
	assert.ErrorContains(t, err, "confidence is 95", "all that is wrong is said")
}

// A policy is refused, or survives a round trip and can judge a report.
func FuzzPolicy(f *testing.F) {
	whole, err := json.Marshal(report.Policy{})
	require.NoError(f, err)
	for _, seed := range []string{
		string(whole), "", "{}", "null", "[]", `{"Latency_slack":"5ms"}`, `{"rtt":"-1h"}`, `{"known":[{"class":"value","why":""}]}`,
		`{"lag":"99999999999999h"}`, `{"x":1}`, `{"silence":1e400}`, "{}{}", `{"RTT":9223372036854775807}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p, again report.Policy
		if json.Unmarshal(text, &p) != nil || p.Validate() != nil {
			return
		}
		written, err := json.Marshal(p)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &again), "%s", written)
		require.NoError(t, again.Validate())
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(twice))
		reporttest.Ready().Judge(p)
	})
}

// A zero Policy means that of the report, in every format, from a file and after a merge.
func TestZeroPolicyIsThatOfTheReport(t *testing.T) {
	known := []report.Known{{Operation: "update", Class: report.TTLDiffers, Why: "fixed"}}
	own := report.Policy{Rate: 0.25, Keys: 7, Lag: time.Hour, Known: known}
	r := reporttest.Ready()
	r.Policy = own
	want, other := r.Judge(own), r.Judge(report.Policy{Rate: 0.5})
	require.NotEqual(t, want, reporttest.Ready().Judge(report.Policy{}), "the defaults differ")
	require.NotEqual(t, want, other, "a policy replaces that of the report")
	assert.Equal(t, want, r.Judge(report.Policy{}))

	write := func(r *report.Report, p report.Policy) (all string) {
		for _, format := range []func(io.Writer, report.Policy) error{r.WriteJSON, r.WriteText, r.WriteHTML, r.WriteMetrics} {
			var out strings.Builder
			require.NoError(t, format(&out, p))
			all += out.String()
		}
		return all
	}
	assert.Equal(t, write(r, own), write(r, report.Policy{}))

	var out bytes.Buffer
	require.NoError(t, r.WriteJSON(&out, report.Policy{Rate: 0.5}))
	later := strings.Replace(out.String(), `"keys": 7,`, `"keys": 7, "ofALaterVersion": 1,`, 1)
	require.NotEqual(t, later, out.String())
	read, err := report.Read(strings.NewReader(later))
	require.NoError(t, err)
	assert.Equal(t, own, read.Policy)
	older := reporttest.Ready()
	older.Taken, older.Policy = older.Taken.Add(-time.Hour), report.Policy{Rate: 0.5}
	assert.Equal(t, own, merged(t, older, read, older).Policy, "of the last one taken")
}
