package promunwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Config tunes [New]. The zero Config works.
type Config struct {
	// Operations have the series of all reasons from the start, so that increase() sees their first
	// error. Name them as the label does: "room/join". They count against MaxOperations.
	Operations []string

	// MaxOperations is how many operations of a path, and of a lock service, have series of their own;
	// further ones are "other". Default 32.
	MaxOperations int
}

// Metrics holds the metrics of one registry. It is safe for concurrent use.
type Metrics struct {
	recorder   *observe.Recorder
	histograms map[*observe.Metric]*prometheus.HistogramVec
	counters   map[*observe.Metric]*prometheus.CounterVec
	gauges     map[*observe.Metric]*prometheus.GaugeVec
	descs      map[*observe.Metric]*prometheus.Desc // of Stats
}

// Store is a Store with Stats, as *lockupdate.Store is.
type Store = observe.Store

// New registers the metrics with registry. To give all names a prefix, or all series a label, wrap the
// registry: see prometheus.WrapRegistererWithPrefix. The error is an [rmw.ErrInvalid] if registry is
// nil or has one of the names already; then nothing is registered.
func New(registry prometheus.Registerer, cfg Config) (*Metrics, error) {
	if redisx.IsNil(registry) {
		return nil, fmt.Errorf("%w: promunwatch.New needs a registry, not nil", rmw.ErrInvalid)
	}
	m := &Metrics{
		histograms: map[*observe.Metric]*prometheus.HistogramVec{},
		counters:   map[*observe.Metric]*prometheus.CounterVec{},
		gauges:     map[*observe.Metric]*prometheus.GaugeVec{},
		descs:      map[*observe.Metric]*prometheus.Desc{},
	}
	m.recorder = observe.NewRecorder(m.open, observe.Options{Operations: cfg.Operations, MaxOperations: cfg.MaxOperations})
	for _, metric := range observe.Metrics() {
		labels := make([]string, len(metric.Attributes))
		for i, a := range metric.Attributes {
			labels[i] = a.Label()
		}
		name, help := metric.Prometheus(), metric.Help
		switch metric.Kind {
		case observe.Histogram:
			m.histograms[metric] = prometheus.NewHistogramVec(
				prometheus.HistogramOpts{Name: name, Help: help, Buckets: metric.Buckets}, labels)
		case observe.Counter:
			m.counters[metric] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		case observe.Level:
			m.gauges[metric] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		case observe.Total, observe.State:
			m.descs[metric] = prometheus.NewDesc(name, help, labels, nil)
		}
	}
	if err := registry.Register(collector{m}); err != nil {
		return nil, fmt.Errorf("%w: the registry has metrics of these names already; "+
			"use one promunwatch.Metrics for all Stores, or prometheus.WrapRegistererWithPrefix: %w", rmw.ErrInvalid, plain(err))
	}
	return m, nil
}

// plain is the error of a registry, without the collector that an AlreadyRegisteredError holds.
func plain(err error) error { return errors.New(err.Error()) }

// Updates returns a middleware that measures each Update, Transact and Read. path names the Store, as
// "lockupdate" or "cas". Errors and panics of fn pass through, and are counted as "fn" and "panic".
func (m *Metrics) Updates(path string) rmw.Middleware {
	return m.recorder.Updates(path)
}

// Locks returns an Observer for the Config of a Locker. service names the lock service: "redis",
// "redlock", "etcd", "sql" or "zookeeper".
func (m *Metrics) Locks(service string) lock.Observer {
	return m.recorder.Locks(service)
}

// Events returns an OnEvent for the Config of a lockupdate.Store: it measures how many updates a
// commit writes. path names the Store.
func (m *Metrics) Events(path string) func(lockupdate.Event) {
	commits := m.recorder.Commits(path)
	return func(e lockupdate.Event) {
		if e.Kind == lockupdate.EventCombined {
			commits(e.N)
		}
	}
}

// Stats exports the counts that only the Stats of a Store have: renewals, polls, conflicts, combined
// updates and the circuit breaker. path is that of Updates, since alerts join both. Each Store needs a path
// of its own; the error is an [rmw.ErrInvalid] otherwise. The Metrics keep the Store until Unregister.
func (m *Metrics) Stats(path string, store Store) error { return m.recorder.Register(path, store) }

// Unregister ends the export of the Stats of a path, so that a new Store can have it.
func (m *Metrics) Unregister(path string) { m.recorder.Unregister(path) }

// open returns a series.
func (m *Metrics) open(metric *observe.Metric, values ...string) observe.Record {
	switch metric.Kind {
	case observe.Histogram:
		series := m.histograms[metric].WithLabelValues(values...)
		return func(_ context.Context, v float64) { series.Observe(v) }
	case observe.Counter:
		series := m.counters[metric].WithLabelValues(values...)
		return func(_ context.Context, v float64) { series.Add(v) }
	default:
		series := m.gauges[metric].WithLabelValues(values...)
		return func(_ context.Context, v float64) { series.Add(v) }
	}
}
