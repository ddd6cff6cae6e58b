package report_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/pagetest"
	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// answer is the response of a handler.
type answer struct {
	status int
	header http.Header
	body   string
}

func serve(h http.Handler, method, target string) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return answer{w.Code, w.Header(), w.Body.String()}
}

func notReady(context.Context) (*report.Report, error) { return reporttest.NotReady(), nil }

func TestHandler(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", report.Handler(notReady, report.Policy{}))
	for _, test := range []struct {
		method, below string
		status        int
		kind          string // Content-Type, until its semicolon
		has           string // in the body
	}{
		{"GET", "", 200, "text/html", "<!DOCTYPE html>"},
		{"GET", "?format=html", 200, "text/html", "<!DOCTYPE html>"},
		{"GET", "?format=json", 200, "application/json", `"schema"`},
		{"GET", "?format=text", 200, "text/plain", ""},
		{"GET", "?format=metrics", 200, "text/plain", "# TYPE shadow_verdict gauge\n"},
		{"GET", "metrics", 200, "text/plain", "# TYPE shadow_verdict gauge\n"},
		{"GET", "metrics?format=json", 200, "application/json", `"schema"`},
		{"GET", "metrics/", 200, "text/html", "<!DOCTYPE html>"},
		{"GET", "nometrics", 200, "text/html", "<!DOCTYPE html>"},
		{"GET", "?format=xml", 400, "text/plain", `format is "xml": want html, json, text or metrics`},
		{"GET", "?format=%3Cscript%3E", 400, "text/plain", `format is "<script>"`},
		{"GET", "?live=soon", 400, "text/plain", `live is "soon": want a number of seconds from 2 to 3600`},
		{"GET", "?download=yes", 400, "text/plain", `download is "yes": want 1, or no value`},
		{"POST", "", 405, "text/plain", "read with GET"},
		{"DELETE", "?format=json", 405, "text/plain", "read with GET"},
		{"POST", "metrics", 405, "text/plain", "read with GET"},
	} {
		t.Run(test.method+test.below, func(t *testing.T) {
			response := serve(mux, test.method, "/debug/shadow/"+test.below)
			assert.Equal(t, test.status, response.status)
			kind, _, _ := strings.Cut(response.header.Get("Content-Type"), ";")
			assert.Equal(t, test.kind, kind)
			assert.Contains(t, response.body, test.has)
			assert.Contains(t, response.header.Get("Content-Security-Policy"), "default-src 'none'")
			assert.Contains(t, response.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
			assert.Equal(t, "nosniff", response.header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-referrer", response.header.Get("Referrer-Policy"))
			assert.Equal(t, "no-store", response.header.Get("Cache-Control"))
			assert.Equal(t, test.status == 405, response.header.Get("Allow") == "GET, HEAD")
		})
	}
}

// HEAD has the headers of GET, and no body.
func TestHandlerHead(t *testing.T) {
	h := report.Handler(notReady, report.Policy{})
	for _, target := range []string{"/", "/metrics"} {
		got, head := serve(h, "GET", target), serve(h, "HEAD", target)
		assert.Equal(t, got.status, head.status)
		assert.Equal(t, got.header, head.header)
		assert.Empty(t, head.body)
	}
}

// The path /metrics has the metrics and their Content-Type under any prefix.
func TestHandlerMetrics(t *testing.T) {
	h := report.Handler(notReady, report.Policy{})
	var want strings.Builder
	require.NoError(t, reporttest.NotReady().WriteMetrics(&want, report.Policy{}))
	for target, mounted := range map[string]http.Handler{
		"/metrics":              h,
		"/debug/shadow/metrics": h,
		"/a/metrics":            http.StripPrefix("/a", h),
		"/b/metrics":            http.StripPrefix("/b/", h),
	} {
		response := serve(mounted, "GET", target)
		assert.Equal(t, 200, response.status, target)
		assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", response.header.Get("Content-Type"), target)
		assert.Equal(t, want.String(), response.body, target)
	}
}

// The Content-Security-Policy permits the page's own style. The page links to the other formats.
func TestHandlerPage(t *testing.T) {
	response := serve(report.Handler(notReady, report.Policy{}), "GET", "/")
	nodes := pagetest.Parse(t, response.body)
	assert.Equal(t, pagetest.PolicyOf(nodes)+"; frame-ancestors 'none'", response.header.Get("Content-Security-Policy"))
	links := map[string]bool{}
	for _, n := range nodes {
		if n.Name == "a" && !strings.HasPrefix(n.Attrs["href"], "#") {
			links[n.Attrs["href"]] = true
		}
	}
	assert.Equal(t, map[string]bool{
		"?format=json": true, "?format=text": true, "?format=metrics": true, "?download=1": true, "?live=5": true,
	}, links)
	assert.Empty(t, response.header.Get("Refresh"))
}

func TestHandlerLive(t *testing.T) {
	h := report.Handler(notReady, report.Policy{})
	for query, want := range map[string]string{"?live=5": "5", "?live=1": "2", "?live=-7": "2", "?live=86400": "3600", "?live=": ""} {
		response := serve(h, "GET", "/"+query)
		assert.Equal(t, want, response.header.Get("Refresh"), query)
		assert.Equal(t, want != "", strings.Contains(response.body, `<a href="?"`), "the way to stop")
	}
	assert.Equal(t, "5", serve(h, "GET", "/?live=5&format=text").header.Get("Refresh"))
	assert.Empty(t, serve(h, "GET", "/?live=5&format=json").header.Get("Refresh"))
	assert.Empty(t, serve(h, "GET", "/metrics?live=5").header.Get("Refresh"))
}

// A saved page has no links to a server.
func TestHandlerDownload(t *testing.T) {
	h := report.Handler(notReady, report.Policy{})
	for query, name := range map[string]string{
		"?download=1":             "shadow-customer-service-20260302T141200Z.html",
		"?download=1&format=json": "shadow-customer-service-20260302T141200Z.json",
		"?download=1&format=text": "shadow-customer-service-20260302T141200Z.txt",
		"metrics?download=1":      "shadow-customer-service-20260302T141200Z.prom",
	} {
		response := serve(h, "GET", "/"+query)
		assert.Equal(t, `attachment; filename="`+name+`"`, response.header.Get("Content-Disposition"))
	}
	assert.Equal(t, render(t, reporttest.NotReady()), serve(h, "GET", "/?download=1&live=5").body)
	assert.Empty(t, serve(h, "GET", "/").header.Get("Content-Disposition"))

	odd := report.Handler(func(context.Context) (*report.Report, error) {
		r := reporttest.Empty()
		r.Name = "../..\r\nX: \"päge\" " + strings.Repeat("n", 500)
		return r, nil
	}, report.Policy{})
	disposition := serve(odd, "GET", "/?download=1").header.Get("Content-Disposition")
	assert.Regexp(t, `^attachment; filename="shadow-x-p-ge-n+-20260302T080000Z\.html"$`, disposition)
	assert.Less(t, len(disposition), 140)
}

// The response says that the source failed. Only the log has the error.
func TestHandlerHidesErrorsOfTheSource(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for text, fail := range map[string]error{
		"The report could not be collected. The log":         errors.New("dial tcp 10.1.2.3:6379: refused"),
		"The report could not be collected in time. The log": context.DeadlineExceeded,
		"The report could not be collected: it was":          context.Canceled,
	} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		h := report.Handler(func(context.Context) (*report.Report, error) { return nil, fail }, report.Policy{})
		response := serve(h, "GET", "/")
		assert.Equal(t, 500, response.status)
		body := response.body
		assert.Contains(t, body, text)
		assert.NotContains(t, body, "10.1.2.3")
		assert.Contains(t, log.String(), fail.Error())
		assert.Equal(t, "no-store", response.header.Get("Cache-Control"))
	}
	none := report.Handler(func(context.Context) (*report.Report, error) { return nil, nil }, report.Policy{})
	assert.Equal(t, 500, serve(none, "GET", "/").status)
}

// The source gets the ctx of the request. A cancelled request gets no response and no log.
func TestHandlerPassesTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	report.Handler(func(ctx context.Context) (*report.Report, error) { return nil, ctx.Err() }, report.Policy{}).
		ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	assert.Zero(t, w.Body.Len())
}

// Importing the package registers no handler.
func TestImportRegistersNoHandler(t *testing.T) {
	_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest("GET", "/debug/shadow/", nil))
	assert.Empty(t, pattern)
}
