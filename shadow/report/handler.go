package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/htmlpage"
)

// Handler serves the Report of source, judged by p as in [Report.Judge]: as the page of [Report.WriteHTML], as JSON, as
// text, and as metrics. The page links only to itself, so any prefix will do:
//
//	mux.Handle("/debug/shadow/", report.Handler(source, report.Policy{}))
//
// Handler registers nothing by itself. Like the handlers of net/http/pprof it asks for no
// password: mount it where only operators have access. It accepts any Host, because only the service
// knows its own names. By DNS rebinding, a foreign site can make an operator's browser read the page. If
// Config.RedactKey or Domain.Show show more than hashes, check Request.Host before the Handler.
//
// It answers GET and HEAD, with these parameters:
//
//	?format=html|json|text|metrics   default html
//	?download=1                      as a file to save
//	?live=5                          the page reloads itself every 5 seconds (2 to 3600)
//
// The format of a path that ends in /metrics, such as /debug/shadow/metrics, is metrics by default.
//
// The page has no script, and its Content-Security-Policy permits none. An error of source is
// logged to [slog.Default]. Its text is not served.
func Handler(source func(context.Context) (*Report, error), p Policy) http.Handler {
	return &handler{source: source, policy: p}
}

type handler struct {
	source func(context.Context) (*Report, error)
	policy Policy
}

const liveLeast, liveMost = 2, 3600 // seconds

var formats = map[string]struct {
	kind, extension string
	write           func(*Report, io.Writer, Policy) error
}{
	"html":    {"text/html; charset=utf-8", "html", (*Report).WriteHTML},
	"json":    {"application/json", "json", (*Report).WriteJSON},
	"text":    {"text/plain; charset=utf-8", "txt", (*Report).WriteText},
	"metrics": {MetricsType, "prom", (*Report).WriteMetrics},
}

// request has the parameters of the query.
type request struct {
	format   string
	download bool
	live     int // seconds
}

func parseRequest(target *url.URL) (request, error) {
	q, query := request{format: "html"}, target.Query()
	if strings.HasSuffix("/"+target.Path, "/metrics") { // http.StripPrefix may leave no slash
		q.format = "metrics"
	}
	if format := query.Get("format"); format != "" {
		q.format = format
	}
	if _, ok := formats[q.format]; !ok {
		return q, fmt.Errorf("format is %q: want html, json, text or metrics", q.format)
	}
	switch download := query.Get("download"); download {
	case "", "0":
	case "1":
		q.download = true
	default:
		return q, fmt.Errorf("download is %q: want 1, or no value", download)
	}
	if live := query.Get("live"); live != "" {
		seconds, err := strconv.Atoi(live)
		if err != nil {
			return q, fmt.Errorf("live is %q: want a number of seconds from %d to %d", live, liveLeast, liveMost)
		}
		q.live = min(max(seconds, liveLeast), liveMost)
	}
	return q, nil
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	htmlpage.SetHeaders(header)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "this page is read with GET", http.StatusMethodNotAllowed)
		return
	}
	q, err := parseRequest(r.URL)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	report, err := h.source(r.Context())
	if err == nil && report == nil {
		err = errors.New("the source returned no report")
	}
	if err != nil {
		h.failed(w, r, "The report could not be collected", err)
		return
	}
	var body bytes.Buffer
	if err := h.render(&body, report, q); err != nil {
		h.failed(w, r, "The report was collected, but could not be written as "+q.format, err)
		return
	}
	header.Set("Content-Type", formats[q.format].kind)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if q.download {
		header.Set("Content-Disposition", `attachment; filename="`+fileName(report, q.format)+`"`)
	} else if q.live > 0 && (q.format == "html" || q.format == "text") {
		header.Set("Refresh", strconv.Itoa(q.live))
	}
	if r.Method == http.MethodGet {
		_, _ = body.WriteTo(w) // the client may be gone
	}
}

func (h *handler) render(w io.Writer, r *Report, q request) error {
	if q.format == "html" && !q.download {
		p := newPage(r, h.policy)
		p.Served, p.Live = true, q.live
		return p.write(w)
	}
	return formats[q.format].write(r, w, h.policy)
}

// failed logs err. The response has only message: the text of err may name hosts.
func (h *handler) failed(w http.ResponseWriter, r *http.Request, message string, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		message += " in time"
	case errors.Is(err, context.Canceled):
		message += ": it was cancelled"
	}
	slog.ErrorContext(r.Context(), "shadow report: "+message, "err", err)
	http.Error(w, message+". The log of this process has the reason.", http.StatusInternalServerError)
}

// fileName has the name and the time of the report: many such files end up in one folder.
func fileName(r *Report, format string) string {
	parts := strings.FieldsFunc("shadow-"+r.Name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
	joined := strings.ToLower(strings.Join(parts, "-"))
	return joined[:min(len(joined), 80)] + "-" + r.Taken.UTC().Format("20060102T150405Z") + "." + formats[format].extension
}
