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

// texts are the values of a field. They are few, so that two reports share some, and some are unusual.
var texts = map[string][]string{
	"Build": {"", "1", "2", "1,3"}, "Breaker": {"closed", "half-open", "open"}, "Mode": {"", "off", "shadow", "reverse", "mixed"},
	"Class":   {string(report.Match), string(report.ValueDiffers), string(report.LostUpdate), string(report.DriftGap)},
	"Reason":  {"", "dropped_queue", "a reason without a blank-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on"},
	"Explain": {"", "a sentence that says what this means, and is long enough to need two lines"},
	"Path":    {"", "x", "members[].a_very_long_path_that_goes_on.and_on.and_on.and_on.and_on.until_it_ends"},
	"Key":     {"k1", "k3\x1b[31m", "schlüssel"}, "Comparator": {"seeded", "lockstep", "free"},
	"": {"a", "b", "a-name-as-long-as-a-pod-has-6f7d9c5b4-x2x9z-and-longer-still"},
}

// drawReport draws a report that adds up.
func drawReport(t *rapid.T, label string) *report.Report {
	r := new(report.Report)
	drawing{t, label}.fill(reflect.ValueOf(r).Elem(), "")
	r.Schema, r.AA, r.Percent, r.Taken = report.Schema, false, min(r.Percent, 100), reporttest.Start().Add(time.Hour)
	r.Operations = distinct(r.Operations, func(op report.Operation) string { return op.Domain + op.Name })
	r.Keys = distinct(r.Keys, func(k report.DirtyKey) string { return k.Domain + k.Key })
	r.Processes = distinct(r.Processes, func(p report.Process) string { return p.Name })
	r.Timeline = distinct(r.Timeline, func(m report.Minute) string { return m.At.Truncate(time.Minute).UTC().String() })
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

type drawing struct {
	t     *rapid.T
	label string
}

func (d drawing) n(most int64) int64 { return rapid.Int64Range(0, most).Draw(d.t, d.label) }

// fill draws all that is in v, the field of that name.
func (d drawing) fill(v reflect.Value, name string) {
	switch into := v.Addr().Interface().(type) {
	case *time.Time:
		if *into = reporttest.Start().Add(time.Duration(d.n(3)) * 30 * time.Second); d.n(1) == 1 {
			*into = into.In(time.FixedZone("elsewhere", 3600))
		}
		return
	case *report.Latency:
		for range d.n(5) {
			into.Record(time.Duration(d.n(1e9)))
		}
		return
	case *report.KeySketch:
		for range d.n(3) {
			into.Add(uint64(d.n(5)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(d.n(9))
	case reflect.Float64:
		v.SetFloat(float64(d.n(100)))
	case reflect.String:
		words, ok := texts[name]
		if !ok {
			words = texts[""]
		}
		v.SetString(rapid.SampledFrom(words).Draw(d.t, d.label+" "+name))
	case reflect.Pointer:
		if d.n(1) == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			d.fill(v.Elem(), name)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			d.fill(value, field.Name)
		}
	case reflect.Slice:
		for range d.n(3) {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			d.fill(v.Index(v.Len()-1), name)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range d.n(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			d.fill(key, v.Type().Key().Name())
			d.fill(value, "")
			v.SetMapIndex(key, value)
		}
	}
}
