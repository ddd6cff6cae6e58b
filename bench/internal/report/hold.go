package report

import (
	"math"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/plan"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// HoldTable is the table for one number of locks.
type HoldTable struct {
	Scenario plan.Scenario
	Rows     []HoldRow
}

// HoldRow is the row of one keeper.
type HoldRow struct {
	Impl  string
	Watch float64 // MB of the watchdog; NaN: unknown

	holds []*result.Hold
}

func (r *HoldRow) all(get func(*result.Hold) float64) stats.Spread { return stats.By(r.holds, get) }

// HoldTables groups the holds of a run.
func HoldTables(f *result.Results) []HoldTable {
	var tables []HoldTable
	for _, s := range plan.Scenarios() {
		t := HoldTable{Scenario: s}
		for _, name := range peers.Keepers() {
			if holds := f.HoldsOf(s.Name, name); len(holds) > 0 {
				t.Rows = append(t.Rows, HoldRow{name, stats.By(holds, (*result.Hold).Watch).Median, holds})
			}
		}
		t.watchOfTickers()
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// watchOfTickers computes the memory of ticker watchdogs as the difference to locks without
// renewal, since heap profiles do not contain goroutines.
func (t *HoldTable) watchOfTickers() {
	alone := math.NaN()
	for i := range t.Rows {
		switch r := &t.Rows[i]; r.Impl {
		case "none": // it comes first
			alone = r.all((*result.Hold).Megabytes).Median
		case "ticker":
			r.Watch = r.all((*result.Hold).Megabytes).Median - alone
		}
	}
}

// holdColumns returns the columns of a HoldTable.
func holdColumns() []column[HoldRow] {
	median := func(head, unit string, scale float64, get func(*result.Hold) float64) column[HoldRow] {
		return column[HoldRow]{head: head, unit: unit, scale: scale, number: func(r *HoldRow) float64 { return r.all(get).Median }}
	}
	worst := func(head, unit string, scale float64, get func(*result.Hold) float64) column[HoldRow] {
		return column[HoldRow]{head: head, unit: unit, scale: scale, number: func(r *HoldRow) float64 { return r.all(get).Max }}
	}
	late := func(q float64) func(*result.Hold) float64 {
		return func(h *result.Hold) float64 { return result.Milli(h.Worker.Late.Quantile(q)) }
	}
	return []column[HoldRow]{
		{head: "", cell: func(r *HoldRow) string { return r.Impl }},
		median("locks", "locks", 1, func(h *result.Hold) float64 { return float64(h.Worker.Locks) }),
		median("client CPU %", "client-cpu-%", 1, func(h *result.Hold) float64 { return 100 * h.ClientShare() }),
		median("Redis CPU %", "redis-cpu-%", 1, func(h *result.Hold) float64 { return 100 * h.RedisShare() }),
		median("memory MB", "memory-B", 1e6, (*result.Hold).Megabytes),
		{head: "watch MB", number: func(r *HoldRow) float64 { return r.Watch }, unit: "watch-B", scale: 1e6},
		median("goroutines", "goroutines", 1, func(h *result.Hold) float64 { return float64(h.Worker.Goroutines) }),
		median("renewals/s", "renewals/s", 1, (*result.Hold).Renewals),
		median("flights/s", "flights/s", 1, (*result.Hold).Flights),
		median("late p50 ms", "late-p50-ns", 1e6, late(0.5)),
		median("late p99 ms", "late-p99-ns", 1e6, late(0.99)),
		worst("late max ms", "late-max-ns", 1e6, (*result.Hold).Latest),
		worst("lost", "lost", 1, func(h *result.Hold) float64 { return float64(h.Lost) }),
	}
}
