package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// metrics serves the report of the latest shadow run: /metrics for Prometheus, any other path as a page. A nil
// metrics serves nothing.
type metrics struct {
	server  http.Server
	addr    string
	ended   chan struct{}
	shadows atomic.Pointer[[]*shadow.Store] // of all processes; nil before act E
}

// openMetrics listens at HOST:PORT, unless addr is "".
func openMetrics(ctx context.Context, addr string) (*metrics, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("-metrics: cannot listen: %w; use a HOST:PORT of this machine, such as 127.0.0.1:0 for a free port", err)
	}
	m := &metrics{addr: l.Addr().String(), ended: make(chan struct{})}
	reports := report.Handler(m.report, rehearsalPolicy())
	m.server = http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if m.shadows.Load() == nil { // an empty report would be "not ready"
			w.Header().Set("Content-Type", report.MetricsType)
			say(w, "# There is no shadow before act E.\n")
			return
		}
		reports.ServeHTTP(w, req)
	})}
	go func() {
		defer close(m.ended)
		_ = m.server.Serve(l) // until close
	}()
	return m, nil
}

// report returns the merged report of the shadows.
func (m *metrics) report(context.Context) (*report.Report, error) {
	var reports []*report.Report
	for _, s := range *m.shadows.Load() {
		reports = append(reports, s.Report())
	}
	return shadow.Merge(reports...)
}

// show serves the reports of these shadows, also after their end.
func (m *metrics) show(shadows []*shadow.Store) {
	if m != nil {
		m.shadows.Store(&shadows)
	}
}

func (m *metrics) close() error {
	if m == nil {
		return nil
	}
	err := m.server.Close()
	<-m.ended
	return err
}
