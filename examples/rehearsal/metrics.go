package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/exposition"
	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// metrics serves the metrics of the stores of all processes, and the report of the latest shadow run: /metrics for
// Prometheus, any other path as a page of the report. A nil metrics measures and serves nothing.
type metrics struct {
	server   http.Server
	addr     string
	ended    chan struct{}
	shadows  atomic.Pointer[[]*shadow.Store] // of all processes; nil before act E
	recorder *observe.Recorder

	mu       sync.Mutex
	families map[*observe.Metric]*exposition.Family
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
	m := &metrics{addr: l.Addr().String(), ended: make(chan struct{}), families: map[*observe.Metric]*exposition.Family{}}
	m.recorder = observe.NewRecorder(m.series, observe.Options{})
	reports := report.Handler(m.report, rehearsalPolicy())
	m.server = http.Server{ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute}
	m.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/metrics":
			w.Header().Set("Content-Type", exposition.Type)
			m.write(req.Context(), w)
		case m.shadows.Load() == nil: // an empty report would be "not ready"
			say(w, "There is no shadow before act E.\n")
		default:
			reports.ServeHTTP(w, req)
		}
	})
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

// series returns a series of a metric. A service does not need it: it uses observe/promunwatch, which this module
// must not require.
func (m *metrics) series(metric *observe.Metric, values ...string) observe.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.families[metric]
	if f == nil {
		var labels []string
		for _, a := range metric.Attributes {
			labels = append(labels, a.Label())
		}
		f = &exposition.Family{
			Name: metric.Prometheus(), Kind: string(metric.Kind), Help: metric.Help,
			Labels: strings.Join(labels, " "), Bounds: metric.Buckets,
		}
		m.families[metric] = f
	}
	return func(_ context.Context, v float64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if metric.Kind == observe.Histogram {
			f.Observe(v, values...)
		} else {
			f.Add(int64(v), values...)
		}
	}
}

// write writes the metrics of the stores, and of the shadows once there are some.
func (m *metrics) write(ctx context.Context, w io.Writer) {
	m.mu.Lock()
	var families []*exposition.Family
	for _, metric := range observe.Metrics() {
		if f := m.families[metric]; f != nil {
			families = append(families, f)
		}
	}
	_ = exposition.Write(w, families...) // the client may be gone
	m.mu.Unlock()
	if m.shadows.Load() == nil { // an empty report would be "not ready"
		return
	}
	r, err := m.report(ctx)
	if err != nil {
		say(w, "# The reports of the shadow cannot be merged: %v\n", err)
		return
	}
	_ = r.WriteMetrics(w, rehearsalPolicy())
}

// measured measures a store.
func (m *metrics) measured(path string, s store) store {
	if m == nil {
		return s
	}
	return measured{m.recorder.Updates(path)(s), s}
}

// locks returns an Observer for the locks of a store, or nil.
func (m *metrics) locks() lock.Observer {
	if m == nil {
		return nil
	}
	return m.recorder.Locks("redis")
}

// measured is a store behind the middleware.
type measured struct {
	rmw.Store
	inner store
}

func (s measured) Unwrap() rmw.Store { return s.inner }

func (s measured) Close() error { return s.inner.Close() }
