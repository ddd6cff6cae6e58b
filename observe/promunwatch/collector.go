package promunwatch

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/unwatch/unwatch/internal/observe"
)

// collector is all metrics as one Collector, so that a registry takes all or none.
type collector struct{ *Metrics }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range c.histograms {
		v.Describe(ch)
	}
	for _, v := range c.counters {
		v.Describe(ch)
	}
	for _, v := range c.gauges {
		v.Describe(ch)
	}
	for _, desc := range c.descs {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, v := range c.histograms {
		v.Collect(ch)
	}
	for _, v := range c.counters {
		v.Collect(ch)
	}
	for _, v := range c.gauges {
		v.Collect(ch)
	}
	c.recorder.Stats(func(m *observe.Metric, n uint64, values ...string) {
		kind := prometheus.CounterValue
		if m.Kind == observe.State {
			kind = prometheus.GaugeValue
		}
		ch <- prometheus.MustNewConstMetric(c.descs[m], kind, float64(n), values...)
	})
}
