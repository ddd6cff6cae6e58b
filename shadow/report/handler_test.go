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
	const html, json, text = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
	const metrics = "text/plain; version=0.0.4; charset=utf-8"
	h := report.Handler(notReady, report.Policy{})
	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", h)
	mux.Handle("/a/", http.StripPrefix("/a", h))
	mux.Handle("/b/", http.StripPrefix("/b/", h))
	file := "shadow-customer-service-20260302T141200Z."
	for _, test := range []struct {
		method, target string
		status         int
		kind, has      string // Content-Type, and a part of the body
		refresh, file  string
	}{
		{"GET", "", 200, html, "<!DOCTYPE html>", "", ""},
		{"GET", "?format=html", 200, html, "<!DOCTYPE html>", "", ""},
		{"GET", "?format=json", 200, json, `"schema"`, "", ""},
		{"GET", "?format=text", 200, text, "NOT READY", "", ""},
		{"GET", "?format=metrics", 200, metrics, "# TYPE shadow_verdict gauge\n", "", ""},
		{"GET", "metrics", 200, metrics, "# TYPE shadow_verdict gauge\n", "", ""},
		{"GET", "metrics?format=json", 200, json, `"schema"`, "", ""},
		{"GET", "metrics/", 200, html, "<!DOCTYPE html>", "", ""},
		{"GET", "nometrics", 200, html, "<!DOCTYPE html>", "", ""},
		{"GET", "/a/metrics", 200, metrics, "# TYPE shadow_verdict gauge\n", "", ""},
		{"GET", "/b/metrics", 200, metrics, "# TYPE shadow_verdict gauge\n", "", ""},
		{"GET", "?format=xml", 400, text, `format is "xml": want html, json, text or metrics`, "", ""},
		{"GET", "?format=%3Cscript%3E", 400, text, `format is "<script>"`, "", ""},
		{"GET", "?live=soon", 400, text, `live is "soon": want a number of seconds from 2 to 3600`, "", ""},
		{"GET", "?download=yes", 400, text, `download is "yes": want 1, or no value`, "", ""},
		{"POST", "", 405, text, "read with GET", "", ""},
		{"DELETE", "?format=json", 405, text, "read with GET", "", ""},
		{"POST", "metrics", 405, text, "read with GET", "", ""},
		{"GET", "?live=5", 200, html, `<a href="?"`, "5", ""}, // the way to stop
		{"GET", "?live=1", 200, html, `<a href="?"`, "2", ""},
		{"GET", "?live=-7", 200, html, `<a href="?"`, "2", ""},
		{"GET", "?live=86400", 200, html, `<a href="?"`, "3600", ""},
		{"GET", "?live=", 200, html, `<a href="?live=5"`, "", ""},
		{"GET", "?live=5&format=text", 200, text, "NOT READY", "5", ""},
		{"GET", "?live=5&format=json", 200, json, `"schema"`, "", ""},
		{"GET", "metrics?live=5", 200, metrics, "", "", ""},
		{"GET", "?download=1", 200, html, "<!DOCTYPE html>", "", file + "html"},
		{"GET", "?download=1&format=json", 200, json, `"schema"`, "", file + "json"},
		{"GET", "?download=1&format=text", 200, text, "NOT READY", "", file + "txt"},
		{"GET", "metrics?download=1", 200, metrics, "", "", file + "prom"},
	} {
		target := test.target
		if !strings.HasPrefix(target, "/") {
			target = "/debug/shadow/" + target
		}
		t.Run(test.method+target, func(t *testing.T) {
			response := serve(mux, test.method, target)
			assert.Equal(t, test.status, response.status)
			assert.Contains(t, response.body, test.has)
			if test.file != "" {
				test.file = `attachment; filename="` + test.file + `"`
			}
			for name, want := range map[string]string{
				"Content-Type": test.kind, "Refresh": test.refresh, "Content-Disposition": test.file,
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			} {
				assert.Equal(t, want, response.header.Get(name), name)
			}
			assert.Contains(t, response.header.Get("Content-Security-Policy"), "default-src 'none'")
			assert.Contains(t, response.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
			assert.Equal(t, test.status == 405, response.header.Get("Allow") == "GET, HEAD")
			if test.status == 200 { // HEAD has the same headers, and no body
				head := serve(mux, "HEAD", target)
				assert.Equal(t, answer{response.status, response.header, ""}, head)
			}
		})
	}
	assert.Equal(t, metricsOf(t, reporttest.NotReady()), serve(h, "GET", "/metrics").body)
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
}

// A saved page has no links to a server.
func TestHandlerDownload(t *testing.T) {
	h := report.Handler(notReady, report.Policy{})
	assert.Equal(t, render(t, reporttest.NotReady()), serve(h, "GET", "/?download=1&live=5").body)

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
		assert.Contains(t, response.body, text)
		assert.NotContains(t, response.body, "10.1.2.3")
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
