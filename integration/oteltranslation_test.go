package integration

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/otelunwatch"
	"github.com/unwatch/unwatch/observe/promunwatch"
	"github.com/unwatch/unwatch/rmw"
)

// measures is either exporter.
type measures interface {
	Updates(path string) rmw.Middleware
	Locks(service string) lock.Observer
	Events(path string) func(lockupdate.Event)
	Stats(path string, store promunwatch.Store) error
}

// allFail is a Store whose calls fail.
type allFail struct{ rmw.Store }

func (allFail) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 1}, &rmw.Error{Reason: rmw.ErrOutcomeUnknown}
}

func (allFail) Read(context.Context, rmw.Key) (rmw.Value, error) {
	return rmw.Value{}, &rmw.Error{Reason: rmw.ErrContended}
}

// families returns the names, types and labels of all metrics, once each of them was measured.
func families(t *testing.T, registry *prometheus.Registry, m measures) map[string][]string {
	t.Helper()
	ctx := rmw.WithOperation(t.Context(), "join")
	store := m.Updates("lockupdate")(allFail{})
	_, err := store.Update(ctx, rmw.Key{Name: "k"}, nil)
	require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	_, err = store.Read(ctx, rmw.Key{Name: "k"})
	require.ErrorIs(t, err, rmw.ErrContended)
	observer := m.Locks("redis")
	for _, e := range []lock.Event{
		{Kind: lock.EventRefused, Err: rmw.ErrContended}, {Kind: lock.EventSafe}, {Kind: lock.EventWaiting},
		{Kind: lock.EventLost, Loss: lock.LossTaken},
	} {
		observer(ctx, e)
	}
	m.Events("lockupdate")(lockupdate.Event{Kind: lockupdate.EventCombined, N: 2})
	require.NoError(t, m.Stats("lockupdate", lockupdate.New(nil, lockupdate.Config{})))
	all, err := registry.Gather()
	require.NoError(t, err)
	found := map[string][]string{}
	for _, f := range all {
		labels := map[string]bool{}
		for _, series := range f.GetMetric() {
			for _, l := range series.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		found[f.GetName()+" "+f.GetType().String()] = slices.Sorted(maps.Keys(labels))
	}
	return found
}

// A service that exports OpenTelemetry to Prometheus has the names, types and labels of promunwatch, which the
// dashboard and the alerts read.
func TestOpenTelemetryHasTheNamesOfPrometheus(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metrics, err := promunwatch.New(registry, promunwatch.Config{})
	require.NoError(t, err)
	want := families(t, registry, metrics)

	registry = prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	require.NoError(t, err)
	telemetry, err := otelunwatch.New(otelunwatch.Config{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	require.NoError(t, err)
	assert.Equal(t, want, families(t, registry, telemetry))
}
