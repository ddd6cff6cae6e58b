package otelunwatch

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Config tunes this package. The zero Config works. An error of a provider goes to otel.Handle.
type Config struct {
	// MeterProvider gets the metrics. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// TracerProvider gets the spans. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider

	// Operations count against MaxOperations before any other. Name them as the attribute
	// does: "room/join".
	Operations []string

	// MaxOperations is how many operations of a path, and of a lock service, have metrics of their
	// own; further ones are "other". Default 100.
	MaxOperations int

	// Keys adds the names of keys and locks to spans, as unwatch.key and unwatch.lock.name. Default
	// false: no name leaves the process.
	Keys bool
}

// scope is the name of the meter and of the tracer.
const scope = "github.com/unwatch/unwatch/observe/otelunwatch"

func (c Config) options() observe.Options {
	return observe.Options{Operations: c.Operations, MaxOperations: c.MaxOperations}
}

func (c Config) meter() metric.Meter {
	if c.MeterProvider == nil {
		return otel.GetMeterProvider().Meter(scope)
	}
	return c.MeterProvider.Meter(scope)
}

func (c Config) tracer() trace.Tracer {
	if c.TracerProvider == nil {
		return otel.GetTracerProvider().Tracer(scope)
	}
	return c.TracerProvider.Tracer(scope)
}

// Events returns an OnEvent for the Config of a lockupdate.Store: it measures how many updates a
// commit writes. path names the Store.
func Events(path string, cfg Config) func(lockupdate.Event) {
	commits := observe.Commits(series(cfg.meter()), path)
	return func(e lockupdate.Event) {
		if e.Kind == lockupdate.EventCombined {
			commits(e.N)
		}
	}
}

// Store is a Store with Stats, as *lockupdate.Store is.
type Store interface{ Stats() lockupdate.Stats }

// Stats exports the counts that only the Stats of a Store have: renewals, polls, conflicts, combined
// updates and the circuit breaker. Each Store needs a path of its own. The MeterProvider keeps the
// Store, also after it is closed. The error is an [rmw.ErrInvalid] for a nil store, or that of the
// MeterProvider.
func Stats(path string, store Store, cfg Config) error {
	if redisx.IsNil(store) {
		return fmt.Errorf("%w: otelunwatch.Stats needs a Store, not nil", rmw.ErrInvalid)
	}
	path = observe.Valid(path)
	meter := cfg.meter()
	instruments := map[*observe.Metric]metric.Int64Observable{}
	var all []metric.Observable
	for _, m := range observe.Metrics() {
		var instrument metric.Int64Observable
		var err error
		switch m.Kind {
		case observe.Total:
			instrument, err = meter.Int64ObservableCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		case observe.State:
			instrument, err = meter.Int64ObservableGauge(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		default:
			continue
		}
		if err != nil {
			return err
		}
		instruments[m], all = instrument, append(all, instrument)
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		observe.Stats(path, store.Stats(), func(m *observe.Metric, n uint64, values ...string) {
			o.ObserveInt64(instruments[m], int64(n), metric.WithAttributeSet(attributes(m, values)))
		})
		return nil
	}, all...)
	return err
}

// attributes are those of a series. Neither success nor the lack of an operation is an attribute.
func attributes(m *observe.Metric, values []string) attribute.Set {
	set := make([]attribute.KeyValue, 0, len(values))
	for i, a := range m.Attributes {
		if a == observe.ErrorType && values[i] == observe.OK || a == observe.OpName && values[i] == "" {
			continue
		}
		set = append(set, attribute.String(a.Name, values[i]))
	}
	return attribute.NewSet(set...)
}

// series returns what opens series on a meter. Each metric has one instrument.
func series(meter metric.Meter) observe.Open {
	histograms := map[*observe.Metric]metric.Float64Histogram{}
	counters := map[*observe.Metric]metric.Int64Counter{}
	levels := map[*observe.Metric]metric.Int64UpDownCounter{}
	for _, m := range observe.Metrics() {
		var err error
		switch m.Kind {
		case observe.Histogram:
			histograms[m], err = meter.Float64Histogram(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help),
				metric.WithExplicitBucketBoundaries(m.Buckets...))
		case observe.Counter:
			counters[m], err = meter.Int64Counter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		case observe.Level:
			levels[m], err = meter.Int64UpDownCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		case observe.Total, observe.State: // of Stats
		}
		if err != nil {
			otel.Handle(err)
		}
	}
	return func(m *observe.Metric, values ...string) observe.Record {
		set := metric.WithAttributeSet(attributes(m, values))
		switch record, add := []metric.RecordOption{set}, []metric.AddOption{set}; m.Kind {
		case observe.Histogram:
			h := histograms[m]
			return func(ctx context.Context, v float64) { h.Record(ctx, v, record...) }
		case observe.Counter:
			c := counters[m]
			return func(ctx context.Context, v float64) { c.Add(ctx, int64(v), add...) }
		default:
			l := levels[m]
			return func(ctx context.Context, v float64) { l.Add(ctx, int64(v), add...) }
		}
	}
}
