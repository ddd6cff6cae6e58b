package cutoverstatus_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/cutoverstatus"
)

// A browser under DNS rebinding sends the name of the foreign site.
func TestOnlyHost(t *testing.T) {
	h := cutoverstatus.OnlyHost("Opsbox.", http.NotFoundHandler())
	for host, want := range map[string]int{
		"": 404, "localhost": 404, "LOCALHOST:8080": 404, "localhost.": 404, "127.0.0.1": 404, "10.1.2.3:8080": 404, "[::1]:8080": 404,
		"[::1]": 404, "[fe80::1%eth0]:80": 404, "opsbox": 404, "opsbox.:8080": 404,
		"evil.example": 403, "evil.example:8080": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403,
		"evil.localhost.example": 403, "opsbox.evil.example": 403, "0x7f.1": 403, "127.1": 403, "2130706433": 403, "localhost:80:80": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, host)
		if want == 403 {
			assert.Contains(t, w.Body.String(), "start it with -http NAME:PORT")
			assert.Contains(t, w.Header().Get("Content-Type"), "text/plain")
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = ":8080"
	w := httptest.NewRecorder()
	cutoverstatus.OnlyHost("", h).ServeHTTP(w, r)
	assert.Equal(t, 404, w.Code)
}
