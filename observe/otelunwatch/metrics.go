package otelunwatch

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/lockupdate"
)

// Config tunes [New]. The zero Config works.
type Config struct {
	// MeterProvider gets the metrics. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// TracerProvider gets the spans. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider

	// Operations count against MaxOperations before any other. Name them as the attribute
	// does: "room/join".
	Operations []string

	// MaxOperations is how many operations of a path, and of a lock service, have metrics of their
	// own; further ones are "other". Default 32.
	MaxOperations int

	// Keys adds the names of keys and locks to spans, as unwatch.key, unwatch.keys and unwatch.lock.name. Default
	// false: no name leaves the process.
	Keys bool
}

// scope is the name of the meter and of the tracer.
const scope = "github.com/unwatch/unwatch/observe/otelunwatch"

// Telemetry has the instruments of one MeterProvider, and a tracer. It is safe for concurrent use.
type Telemetry struct {
	recorder   *observe.Recorder
	histograms map[*observe.Metric]metric.Float64Histogram
	counters   map[*observe.Metric]metric.Int64Counter
	levels     map[*observe.Metric]metric.Int64UpDownCounter
	stats      map[*observe.Metric]metric.Int64Observable
	tracer     trace.Tracer
	keys       bool
}

// New makes the instruments. A process needs one Telemetry for each MeterProvider: paths, lock services and
// the budgets of their operations belong to the Telemetry. The error is that of the MeterProvider.
func New(cfg Config) (*Telemetry, error) {
	meters, tracers := cfg.MeterProvider, cfg.TracerProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	t := &Telemetry{
		histograms: map[*observe.Metric]metric.Float64Histogram{},
		counters:   map[*observe.Metric]metric.Int64Counter{},
		levels:     map[*observe.Metric]metric.Int64UpDownCounter{},
		stats:      map[*observe.Metric]metric.Int64Observable{},
		tracer:     tracers.Tracer(scope),
		keys:       cfg.Keys,
	}
	t.recorder = observe.NewRecorder(t.open, observe.Options{Operations: cfg.Operations, MaxOperations: cfg.MaxOperations})
	meter := meters.Meter(scope)
	for _, m := range observe.Metrics() {
		if err := t.instrument(meter, m); err != nil {
			return nil, fmt.Errorf("otelunwatch: instrument %s: %w", m.Name, err)
		}
	}
	var stats []metric.Observable
	for _, instrument := range t.stats {
		stats = append(stats, instrument)
	}
	if _, err := meter.RegisterCallback(t.observe, stats...); err != nil {
		return nil, fmt.Errorf("otelunwatch: callback for Stats: %w", err)
	}
	return t, nil
}

func (t *Telemetry) instrument(meter metric.Meter, m *observe.Metric) (err error) {
	unit, help := metric.WithUnit(m.Unit), metric.WithDescription(m.Help)
	switch m.Kind {
	case observe.Histogram:
		t.histograms[m], err = meter.Float64Histogram(m.Name, unit, help, metric.WithExplicitBucketBoundaries(m.Buckets...))
	case observe.Counter:
		t.counters[m], err = meter.Int64Counter(m.Name, unit, help)
	case observe.Level:
		t.levels[m], err = meter.Int64UpDownCounter(m.Name, unit, help)
	case observe.Total:
		t.stats[m], err = meter.Int64ObservableCounter(m.Name, unit, help)
	case observe.State:
		t.stats[m], err = meter.Int64ObservableGauge(m.Name, unit, help)
	}
	return err
}

// observe is the callback of all instruments of Stats.
func (t *Telemetry) observe(_ context.Context, o metric.Observer) error {
	t.recorder.Stats(func(m *observe.Metric, n uint64, values ...string) {
		o.ObserveInt64(t.stats[m], int64(n), metric.WithAttributeSet(attributes(m, values)))
	})
	return nil
}

// Events returns an OnEvent for the Config of a lockupdate.Store: it measures how many updates a
// commit writes. path names the Store.
func (t *Telemetry) Events(path string) func(lockupdate.Event) {
	commits := t.recorder.Commits(path)
	return func(e lockupdate.Event) {
		if e.Kind == lockupdate.EventCombined {
			commits(e.N)
		}
	}
}

// Store is a Store with Stats, as *lockupdate.Store is.
type Store = observe.Store

// Stats exports the counts that only the Stats of a Store have: renewals, polls, conflicts, combined
// updates and the circuit breaker. path is that of Updates, since alerts join both. Each Store needs a path
// of its own; the error is an [rmw.ErrInvalid] otherwise. The Telemetry keeps the Store until Unregister.
func (t *Telemetry) Stats(path string, store Store) error { return t.recorder.Register(path, store) }

// Unregister ends the export of the Stats of a path, so that a new Store can have it.
func (t *Telemetry) Unregister(path string) { t.recorder.Unregister(path) }

// attributes are those of a series. Neither success nor the lack of an operation is an attribute.
func attributes(m *observe.Metric, values []string) attribute.Set {
	set := make([]attribute.KeyValue, 0, len(values))
	for i, a := range m.Attributes {
		if a == observe.ErrorType && values[i] == observe.OK || a == observe.OpName && values[i] == "" {
			continue
		}
		set = append(set, attribute.String(string(a), values[i]))
	}
	return attribute.NewSet(set...)
}

// open returns a series.
func (t *Telemetry) open(m *observe.Metric, values ...string) observe.Record {
	set := metric.WithAttributeSet(attributes(m, values))
	switch record, add := []metric.RecordOption{set}, []metric.AddOption{set}; m.Kind {
	case observe.Histogram:
		h := t.histograms[m]
		return func(ctx context.Context, v float64) { h.Record(ctx, v, record...) }
	case observe.Counter:
		c := t.counters[m]
		return func(ctx context.Context, v float64) { c.Add(ctx, int64(v), add...) }
	default:
		l := t.levels[m]
		return func(ctx context.Context, v float64) { l.Add(ctx, int64(v), add...) }
	}
}
