package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The metrics are those of the latest shadow run. Before the first one, a scrape succeeds without any.
func TestMetrics(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "E")
	cfg.metrics = "127.0.0.1:0"
	r, out := opened(t, cfg)
	assert.Contains(t, out.String(), "Metrics: http://"+r.metrics.addr+"/metrics\n")
	scrape := func() string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.metrics.addr+"/metrics", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return string(text)
	}
	assert.Equal(t, "# There is no shadow before act E.\n", scrape())
	_, _, err := r.shadowed(t.Context(), r.bugs(t.Context())[0])
	require.NoError(t, err)
	text := scrape()
	assert.Contains(t, text, "shadow_verdict{state=\"not ready\"} 1\n")
	assert.Regexp(t, `shadow_outcomes_total\{.*comparator="seeded",class="value"\} [1-9]`, text)
}

func TestMetricsAddress(t *testing.T) {
	cfg := small(t, "codis", "")
	cfg.metrics = "nowhere"
	code, _, errs := played(t, t.Context(), cfg)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-metrics: cannot listen")
}
