package report_test

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// randomReports draws each field by its type. The values are few, so that two reports share some, and some are unusual.
var randomReports = rapid.MakeCustom[report.Report](rapid.MakeConfig{
	Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[report.Comparator](): rapid.SampledFrom(report.Comparators()).AsAny(),
		reflect.TypeFor[report.Class]():      rapid.SampledFrom([]report.Class{"match", "value", "lost_update", "encoding_only"}).AsAny(),
		reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) time.Time {
			at := reporttest.Start().Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "half minutes")) * 30 * time.Second)
			return at.In(rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("elsewhere", 3600)}).Draw(t, "zone"))
		}).AsAny(),
		reflect.TypeFor[report.Latency](): rapid.Custom(func(t *rapid.T) (l report.Latency) {
			for _, d := range rapid.SliceOfN(rapid.Int64Range(0, 1e9), 0, 5).Draw(t, "durations") {
				l.Record(time.Duration(d))
			}
			return l
		}).AsAny(),
		reflect.TypeFor[report.KeySketch](): rapid.Custom(func(t *rapid.T) (k report.KeySketch) {
			for _, hash := range rapid.SliceOfN(rapid.Uint64Range(0, 5), 0, 3).Draw(t, "hashes") {
				k.Add(hash)
			}
			return k
		}).AsAny(),
	},
	Kinds: map[reflect.Kind]*rapid.Generator[any]{
		reflect.Int:     rapid.IntRange(0, 9).AsAny(),
		reflect.Int64:   rapid.Int64Range(0, 9).AsAny(),
		reflect.Float64: rapid.Float64Range(0, 100).AsAny(),
		reflect.String: rapid.SampledFrom([]string{
			"", "a", "b", "1,3", "off", "shadow", "mixed", "dropped_queue", "k3\x1b[31m", "schlüssel",
			"a sentence that says what this means, and is long enough to need two lines",
			"a-name-as-long-as-a-pod-has-6f7d9c5b4-x2x9z-and-longer-still",
			"members[].a_very_long_path_that_goes_on.and_on.and_on.and_on.and_on.until_it_ends",
		}).AsAny(),
	},
	Fields: map[reflect.Type]map[string]*rapid.Generator[any]{
		reflect.TypeFor[report.Health](): {"Breaker": rapid.SampledFrom([]string{"closed", "half-open", "open"}).AsAny()},
	},
})

// drawReport draws a report that adds up.
func drawReport(t *rapid.T, label string) *report.Report {
	drawn := randomReports.Draw(t, label)
	r := &drawn
	r.Schema, r.AA, r.Taken = report.Schema, false, reporttest.Start().Add(time.Hour)
	r.Operations = distinct(r.Operations[:min(len(r.Operations), 2)], func(op report.Operation) string { return op.Domain + op.Name })
	r.Keys = distinct(r.Keys, func(k report.DirtyKey) string { return k.Domain + k.Key })
	r.Processes = distinct(r.Processes, func(p report.Process) string { return p.Name })
	for i := range r.Operations {
		op := &r.Operations[i]
		for c, t := range op.Tallies {
			t.Compared = sum(t.Classes)
			t.Eligible = t.Compared + t.InFlight + sum(t.NotCompared)
			op.Tallies[c] = t
		}
		op.Findings = slices.DeleteFunc(op.Findings, func(f report.Finding) bool { return op.Tallies[f.Comparator].Classes[f.Class] == 0 })
		op.Findings = distinct(op.Findings, func(f report.Finding) string { return string(f.Comparator) + string(f.Class) + f.Path })
		if sum(op.Outcomes) > op.Tallies[report.Seeded].Compared {
			op.Outcomes = nil
		}
		op.Contended = min(op.Contended, op.Audited)
	}
	return r
}

func sum[K comparable](counts map[K]int64) (sum int64) {
	for n := range maps.Values(counts) {
		sum += n
	}
	return sum
}

// distinct keeps the first element of each name.
func distinct[T any](all []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(one T) bool {
		was := seen[name(one)]
		seen[name(one)] = true
		return was
	})
}
