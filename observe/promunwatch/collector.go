package promunwatch

import (
	"maps"

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
	c.mu.Lock()
	stores := maps.Clone(c.stores)
	c.mu.Unlock()
	for path, store := range stores {
		s := store.Stats()
		total := func(of *observe.Metric, n uint64, values ...string) {
			ch <- prometheus.MustNewConstMetric(c.descs[of], prometheus.CounterValue, float64(n), append([]string{path}, values...)...)
		}
		total(observe.LockRenewals, s.Renewed, "renewed")
		total(observe.LockRenewals, s.RenewFailures, "failed")
		total(observe.LockPolls, s.Polled)
		total(observe.CommitConflicts, s.Conflicted)
		total(observe.UpdatesCombined, s.Combined)
		open := 0.
		if s.CircuitOpen {
			open = 1
		}
		ch <- prometheus.MustNewConstMetric(c.descs[observe.CircuitOpen], prometheus.GaugeValue, open, path)
	}
}
