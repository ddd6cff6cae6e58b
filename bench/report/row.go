package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/bench/peers"
	"github.com/unwatch/unwatch/bench/plan"
	"github.com/unwatch/unwatch/bench/result"
	"github.com/unwatch/unwatch/bench/stats"
)

// Table is one scenario.
type Table struct {
	Scenario plan.Scenario
	Rows     []Row
}

// Row is one implementation in one scenario: the median of every column over the
// repetitions.
type Row struct {
	Impl              string
	Refused, Crashed  string
	Rate              stats.Spread
	RunRates          map[int]float64 // the median of each run
	TimesWatch        float64         // in the median of all runs; NaN: there is no such row
	TimesBackoff      float64         // over WATCH with backoff, the same
	TimesPeer         float64         // over the best peer, WATCH without backoff aside
	P50, P99          float64         // ms
	Calls, Flights    float64         // per update, and so on
	Commands          float64
	Part              float64 // of the updates, where others update beside; NaN: nobody does
	Bytes, Allocs     float64
	RedisCPU, CPU     float64 // µs
	Retries           float64 // NaN: cannot be seen
	Share             float64 // of the worst process compared to the best; NaN: there is one process
	Lost, Twice, Hung int64   // in all repetitions together
	Failed            int64
	Err               string
	Foreign           float64 // the most in any repetition
	ProxyCPU          float64
}

// columns are those of every table of updates.
func columns() []column[Row] {
	text := func(get func(*Row) string) func(*Row) string {
		return func(r *Row) string {
			if r.Rate.N == 0 {
				return ""
			}
			return get(r)
		}
	}
	number := func(get func(*Row) float64) func(*Row) string {
		return text(func(r *Row) string { return stats.Short(get(r)) })
	}
	return []column[Row]{
		{head: "", cell: func(r *Row) string { return r.Impl }},
		{head: "updates /s", cell: (*Row).rate},
		{head: "min..max", cell: text(func(r *Row) string { return kilo(r.Rate.Min) + ".." + kilo(r.Rate.Max) })},
		{head: "x WATCH", cell: number(func(r *Row) float64 { return r.TimesWatch })},
		{head: "x +bo", cell: number(func(r *Row) float64 { return r.TimesBackoff })},
		{head: "x peer", cell: number(func(r *Row) float64 { return r.TimesPeer })},
		{head: "p50 ms", cell: number(func(r *Row) float64 { return r.P50 })},
		{head: "p99 ms", cell: number(func(r *Row) float64 { return r.P99 })},
		{head: "commands", cell: number(func(r *Row) float64 { return r.Commands })},
		{head: "calls", cell: number(func(r *Row) float64 { return r.Calls })},
		{head: "reads", cell: number(func(r *Row) float64 { return r.Flights })},
		{head: "bytes", cell: number(func(r *Row) float64 { return r.Bytes })},
		{head: "allocs", cell: number(func(r *Row) float64 { return r.Allocs })},
		{head: "Redis µs", cell: number(func(r *Row) float64 { return r.RedisCPU })},
		{head: "client µs", cell: number(func(r *Row) float64 { return r.CPU })},
		{head: "share %", cell: number(func(r *Row) float64 { return 100 * r.Part })},
		{head: "worst %", cell: number(func(r *Row) float64 { return 100 * r.Share })},
		{head: "retries", cell: number(func(r *Row) float64 { return r.Retries }), wide: true},
		{head: "trouble", cell: (*Row).Trouble, wide: true},
	}
}

// rate is the median, or why there is none.
func (r *Row) rate() string {
	switch {
	case r.Rate.N > 0:
		return stats.Short(r.Rate.Median)
	case r.Refused != "":
		return "refused"
	}
	return "crashed"
}

// Markdown is the table on the page.
func (t *Table) Markdown() string { return gridOf(columns(), t.Rows, true).markdown() }

// Tables groups the slots of a file, in the order of the plan.
func Tables(f *result.File) []Table {
	var tables []Table
	for _, s := range plan.Scenarios() {
		if s.Locks > 0 {
			continue
		}
		t := Table{Scenario: s}
		for _, name := range peers.Names() {
			if slots := f.Of(s.Name, name); len(slots) > 0 {
				t.Rows = append(t.Rows, rowOf(name, slots))
			}
		}
		if len(t.Rows) > 0 {
			t.compare()
			tables = append(tables, t)
		}
	}
	return tables
}

func rowOf(name string, slots []*result.Slot) Row {
	r := Row{Impl: name, TimesWatch: math.NaN(), TimesBackoff: math.NaN(), TimesPeer: math.NaN(), RunRates: map[int]float64{}}
	var good []*result.Slot
	rates := map[int][]float64{}
	for _, s := range slots {
		switch {
		case s.Refused != "":
			r.Refused = s.Refused // shown only if it always was
		case s.Crashed != "":
			r.Crashed = s.Crashed
		default:
			good = append(good, s)
			rates[s.Run] = append(rates[s.Run], s.Rate())
			r.add(s)
		}
	}
	for run, each := range rates {
		r.RunRates[run] = stats.Of(each).Median
	}
	r.Rate = stats.By(good, (*result.Slot).Rate)
	r.Share = stats.By(good, (*result.Slot).Share).Median
	r.Part = stats.By(good, (*result.Slot).Part).Median
	median := func(get func(*result.Slot) float64) float64 { return stats.By(good, get).Median }
	r.P50 = median(func(s *result.Slot) float64 { return result.Milli(s.Latency().Quantile(0.5)) })
	r.P99 = median(func(s *result.Slot) float64 { return result.Milli(s.Latency().Quantile(0.99)) })
	r.Calls = median(func(s *result.Slot) float64 { return s.Per(float64(s.Server.Total())) })
	r.Flights = median(func(s *result.Slot) float64 { return s.Per(float64(s.Server.Reads)) })
	r.Commands = median(func(s *result.Slot) float64 { return s.Per(float64(s.Commands())) })
	r.Bytes = median(func(s *result.Slot) float64 { return s.Per(float64(s.Server.Bytes)) })
	r.Allocs = median(func(s *result.Slot) float64 { return s.Per(float64(s.Client().Allocs)) })
	r.RedisCPU = median(func(s *result.Slot) float64 { return s.Per(result.Micro(s.Server.CPU)) })
	r.ProxyCPU = median(func(s *result.Slot) float64 { return s.Per(result.Micro(s.Server.ProxCPU)) })
	r.CPU = median(func(s *result.Slot) float64 { return s.Per(result.Micro(s.Client().CPU)) })
	r.Retries = median(func(s *result.Slot) float64 {
		if s.Retries() < 0 {
			return math.NaN()
		}
		return s.Per(float64(s.Retries()))
	})
	return r
}

func (r *Row) add(s *result.Slot) {
	r.Lost += s.Lost()
	r.Twice += s.Twice()
	r.Hung += s.Hung()
	r.Failed += s.Failed()
	if r.Err == "" {
		r.Err = s.Err()
	}
	r.Foreign = max(r.Foreign, s.ForeignCores)
}

// compare fills in the ratios.
func (t *Table) compare() {
	peer := 0.0
	for _, r := range t.Rows {
		if !peers.Ours(r.Impl) && r.Impl != "watch" && r.Impl != "watch+bo" {
			peer = max(peer, r.Rate.Median)
		}
	}
	watch, backoff := t.Row("watch"), t.Row("watch+bo")
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Rate.N > 0 {
			r.TimesWatch, r.TimesBackoff = r.over(watch), r.over(backoff)
			r.TimesPeer = stats.Ratio(r.Rate.Median, peer)
		}
	}
}

// over is the median of the ratios to the other row in each run; NaN without one.
func (r *Row) over(other *Row) float64 {
	var ratios []float64
	if other != nil {
		for run, rate := range r.RunRates {
			if base := other.RunRates[run]; base > 0 {
				ratios = append(ratios, rate/base)
			}
		}
	}
	if len(ratios) == 0 {
		return math.NaN()
	}
	return stats.Of(ratios).Median
}

// Row returns the row of an implementation, or nil if it did not run.
func (t *Table) Row(name string) *Row {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Impl == name && r.Rate.N > 0 })
	if i < 0 {
		return nil
	}
	return &t.Rows[i]
}

// Trouble is what a reader must know about a row, or nothing.
func (r *Row) Trouble() string {
	if r.Rate.N == 0 {
		return r.Refused + r.Crashed
	}
	var parts []string
	count := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", what))
		}
	}
	if r.Crashed != "" {
		parts = append(parts, "crashed")
	}
	count(r.Lost, "lost")
	count(r.Twice, "stored twice")
	count(r.Hung, "hung")
	count(r.Failed, "failed")
	if len(parts) > 0 && r.Err != "" {
		parts = append(parts, r.Err)
	}
	return strings.Join(parts, ", ")
}
