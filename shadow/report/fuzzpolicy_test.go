package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// ReadPolicy refuses a file, or returns a policy that survives a round trip and can judge a report.
func FuzzReadPolicy(f *testing.F) {
	whole, err := json.Marshal(report.Policy{})
	require.NoError(f, err)
	for _, seed := range []string{
		string(whole), "", "{}", "null", "[]", `{"Latency_slack":"5ms"}`, `{"rtt":"-1h"}`, `{"known":[{"class":"value","why":""}]}`,
		`{"lag":"99999999999999h"}`, `{"x":1}`, `{"silence":1e400}`, "{}{}", `{"RTT":9223372036854775807}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := report.ReadPolicy(bytes.NewReader(text))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "report: "), err.Error())
			return
		}
		written, err := json.Marshal(p)
		require.NoError(t, err)
		again, err := report.ReadPolicy(bytes.NewReader(written))
		require.NoError(t, err, "%s", written)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(twice))
		reporttest.Ready().Judge(p)
	})
}
