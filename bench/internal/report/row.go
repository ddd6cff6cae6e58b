package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/plan"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// Table is the table of one scenario.
type Table struct {
	Scenario plan.Scenario
	Rows     []Row
}

// Row is the row of one implementation.
type Row struct {
	Impl              string
	Refused, Crashed  string
	Rate              stats.Spread
	TimesWatch        float64 // median of all runs; NaN: no WATCH row
	TimesBackoff      float64 // the same for WATCH with backoff
	TimesPeer         float64 // over the best peer except WATCH
	TimesRedis        float64 // of lock services: over that of Redis
	Lost, Twice, Hung int64   // sums of all repetitions
	Failed            int64
	Err               string
	Foreign           float64 // maximum of all repetitions

	slots []*result.Slot // without refused and crashed ones
}

// median returns the median of all repetitions, or NaN if there are none.
func median(get func(*result.Slot) float64) func(*Row) float64 {
	return func(r *Row) float64 {
		if len(r.slots) == 0 {
			return math.NaN()
		}
		return stats.By(r.slots, get).Median
	}
}

// each returns the median per update.
func each(get func(*result.Slot) float64) func(*Row) float64 {
	return median(func(s *result.Slot) float64 { return s.Per(get(s)) })
}

func quantile(q float64) func(*Row) float64 {
	return median(func(s *result.Slot) float64 { return result.Milli(s.Latency().Quantile(q)) })
}

// ofRedis is each, or NaN if no server of Redis was on the path.
func ofRedis(get func(result.Server) float64) func(*Row) float64 {
	return median(func(s *result.Slot) float64 {
		if len(s.Server.Calls) == 0 {
			return math.NaN()
		}
		return s.Per(get(s.Server))
	})
}

// handover returns a quantile in milliseconds, or NaN if there were no hand-overs.
func handover(q float64) func(*Row) float64 {
	return median(func(s *result.Slot) float64 {
		if h := s.Handovers(); h.N() > 0 {
			return result.Milli(h.Quantile(q))
		}
		return math.NaN()
	})
}

// handedOver returns the percentage of sections that another process waited for, or NaN if none did.
func handedOver(r *Row) float64 {
	return median(func(s *result.Slot) float64 {
		if n := s.Handovers().N(); n > 0 {
			return s.Per(100 * float64(n))
		}
		return math.NaN()
	})(r)
}

// columns returns the columns of a Table.
func columns() []column[Row] {
	return []column[Row]{
		{head: "", cell: func(r *Row) string { return r.Impl }},
		{head: "updates/s", cell: (*Row).rate, number: nanoseconds, unit: "ns/op"},
		{head: "min..max", cell: func(r *Row) string { return kilo(r.Rate.Min) + ".." + kilo(r.Rate.Max) }},
		{head: "x WATCH", number: func(r *Row) float64 { return r.TimesWatch }},
		{head: "x +bo", number: func(r *Row) float64 { return r.TimesBackoff }},
		{head: "x peer", number: func(r *Row) float64 { return r.TimesPeer }},
		{head: "x Redis", number: func(r *Row) float64 { return r.TimesRedis }},
		{head: "p50 ms", number: quantile(0.5), unit: "p50-ns", scale: 1e6},
		{head: "p99 ms", number: quantile(0.99), unit: "p99-ns", scale: 1e6},
		{head: "handed over %", number: handedOver, unit: "handed-over-%"},
		{head: "hand-over p50", number: handover(0.5), unit: "hand-over-p50-ns", scale: 1e6},
		{head: "hand-over p99", number: handover(0.99), unit: "hand-over-p99-ns", scale: 1e6},
		{head: "commands", number: each(func(s *result.Slot) float64 { return float64(s.Commands()) }), unit: "commands/op"},
		{head: "calls", number: ofRedis(func(s result.Server) float64 { return float64(s.Total()) }), unit: "calls/op"},
		{head: "reads", number: ofRedis(func(s result.Server) float64 { return float64(s.Reads) }), unit: "reads/op"},
		{head: "bytes", number: ofRedis(func(s result.Server) float64 { return float64(s.Bytes) }), unit: "wire-B/op"},
		{head: "allocs", number: each(func(s *result.Slot) float64 { return float64(s.Client().Allocs) }), unit: "allocs/op"},
		{head: "alloc B", number: each(func(s *result.Slot) float64 { return float64(s.Client().AllocBytes) }), unit: "B/op"},
		{head: "Redis µs", number: ofRedis(func(s result.Server) float64 { return result.Micro(s.CPU) }), unit: "redis-ns/op", scale: 1e3},
		{head: "client µs", number: each(func(s *result.Slot) float64 { return result.Micro(s.Client().CPU) }), unit: "client-ns/op", scale: 1e3},
		{head: "share %", number: median(func(s *result.Slot) float64 { return 100 * s.Part() }), unit: "share-%"},
		{head: "worst %", number: median(func(s *result.Slot) float64 { return 100 * s.Share() }), unit: "worst-%"},
		{head: "sealed %", number: median(func(s *result.Slot) float64 { share, _ := s.Sealed(); return 100 * share }), unit: "sealed-%"},
		{head: "sealed ms", number: median(func(s *result.Slot) float64 { _, ms := s.Sealed(); return ms }), unit: "sealed-ns", scale: 1e6},
		{head: "retries", number: each((*result.Slot).Retries), unit: "retries/op"},
		{head: "trouble", cell: (*Row).Trouble, number: (*Row).bad, unit: "bad-updates"},
	}
}

// nanoseconds returns the time of the slots per update.
func nanoseconds(r *Row) float64 { return 1e9 / r.Rate.Median }

// bad counts updates that were lost, stored twice, hung or failed.
func (r *Row) bad() float64 { return float64(r.Lost + r.Twice + r.Hung + r.Failed) }

// rate returns the median rate, or why there is none.
func (r *Row) rate() string {
	switch {
	case r.Rate.N > 0:
		return stats.Short(r.Rate.Median)
	case r.Refused != "":
		return "refused"
	}
	return "crashed"
}

// Tables groups the slots of a run, in the order of the plan.
func Tables(f *result.Results) []Table {
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
	r := Row{Impl: name, TimesWatch: math.NaN(), TimesBackoff: math.NaN(), TimesPeer: math.NaN(), TimesRedis: math.NaN()}
	for _, s := range slots {
		switch {
		case s.Refused != "":
			r.Refused = s.Refused // shown only if no slot ran
		case s.Crashed != "":
			r.Crashed = s.Crashed
		default:
			r.slots = append(r.slots, s)
			r.add(s)
		}
	}
	r.Rate = stats.By(r.slots, (*result.Slot).Rate)
	return r
}

// runs returns the median rate of each run.
func (r *Row) runs() map[int]float64 {
	all, medians := map[int][]float64{}, map[int]float64{}
	for _, s := range r.slots {
		all[s.Run] = append(all[s.Run], s.Rate())
	}
	for run, rates := range all {
		medians[run] = stats.Of(rates).Median
	}
	return medians
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

// compare sets the ratios.
func (t *Table) compare() {
	var peer *Row // the best
	for i := range t.Rows {
		r := &t.Rows[i]
		other := !peers.Ours(r.Impl) && r.Impl != "watch" && r.Impl != "watch+bo" && r.Rate.N > 0
		if other && (peer == nil || r.Rate.Median > peer.Rate.Median) {
			peer = r
		}
	}
	watch, backoff, redis := t.Row("watch"), t.Row("watch+bo"), t.Row("lock-redis")
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Rate.N > 0 {
			r.TimesWatch, r.TimesBackoff, r.TimesPeer, r.TimesRedis = r.over(watch), r.over(backoff), r.over(peer), r.over(redis)
		}
	}
}

// over returns the median of the ratios to the other row in each run, or NaN without one.
func (r *Row) over(other *Row) float64 {
	var ratios []float64
	if other != nil {
		base := other.runs()
		for run, rate := range r.runs() {
			if base[run] > 0 {
				ratios = append(ratios, rate/base[run])
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

// Trouble returns a warning about a row, or "".
func (r *Row) Trouble() string {
	if r.Rate.N == 0 {
		return fmt.Sprintf("%.120s", r.Refused+r.Crashed)
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
