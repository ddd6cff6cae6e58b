package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
)

// The metrics are those of the stores, from the first act on, and of the latest shadow run.
func TestMetrics(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "ACE")
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
	assert.Empty(t, scrape())
	require.NoError(t, r.actLegacy(t.Context()))
	assert.Regexp(t, `unwatch_update_duration_seconds_count\{path="cas",operation="room",error_type="ok"\} [1-9]`, scrape())
	_, err := r.on(t.Context(), onLock(r.stage.proxy, "lock", lockupdate.Config{}), "c:", r.stream, nil)
	require.NoError(t, err)
	text := scrape()
	assert.Regexp(t, `unwatch_update_duration_seconds_bucket\{path="lockupdate",operation="room",error_type="ok",le="10"\} [1-9]`, text)
	assert.Regexp(t, `unwatch_lock_hold_seconds_count\{backend="redis",operation="room"\} [1-9]`, text)
	assert.Contains(t, text, "unwatch_locks_held{backend=\"redis\"} 0\n")
	assert.NotContains(t, text, "shadow_")
	_, _, err = r.shadowed(t.Context(), r.bugs(t.Context())[0])
	require.NoError(t, err)
	text = scrape()
	assert.Equal(t, 1, strings.Count(text, "# TYPE unwatch_locks_held gauge\n"))
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
