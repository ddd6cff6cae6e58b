package shadow_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// The page works under any path and shows the findings.
func TestHandler(t *testing.T) {
	s := shadow.New(rmwtest.NewMemory(), dropsZeroFields(), shadow.Config{Name: "tickets", Sole: true})
	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", s.Handler())
	_, err := s.Update(t.Context(), counter(1), one(operations()["open"], 1))
	require.NoError(t, err)
	require.NoError(t, s.Drain(t.Context()))
	get := func(target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
		return w
	}
	page := get("/debug/shadow/")
	require.Equal(t, http.StatusOK, page.Code)
	assert.Contains(t, page.Body.String(), "tickets")
	assert.Contains(t, page.Body.String(), "rating")
	asJSON := get("/debug/shadow/?format=json")
	r, err := report.Read(asJSON.Body)
	require.NoError(t, err)
	assert.Contains(t, named(r), "seeded value rating")
	assert.Contains(t, get("/debug/shadow/?format=text").Body.String(), "rating")
	metrics := get("/debug/shadow/metrics")
	assert.Equal(t, report.MetricsType, metrics.Header().Get("Content-Type"))
	assert.Contains(t, metrics.Body.String(), `op="update",comparator="seeded",class="value",path="rating"} 1`)
	assert.NotContains(t, metrics.Body.String(), counter(1).Name)
	require.NoError(t, s.Close())
}
