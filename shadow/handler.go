package shadow

import (
	"context"
	"net/http"

	"github.com/unwatch/unwatch/shadow/report"
)

// Handler shows the report as a live page, as text, as JSON and as metrics; mount it under
// any path, as one does with pprof:
//
//	mux.Handle("/debug/shadow/", store.Handler())
//
// Prometheus scrapes /debug/shadow/metrics then. See [report.Handler].
//
// It answers GET and HEAD only, changes nothing, and shows no value and no key's name
// but what Config permits. It is still nothing for the public.
func (s *Store) Handler() http.Handler {
	return report.Handler(func(context.Context) (*report.Report, error) { return s.Report(), nil }, s.cfg.Policy)
}
