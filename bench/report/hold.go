package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/unwatch/unwatch/bench/peers"
	"github.com/unwatch/unwatch/bench/plan"
	"github.com/unwatch/unwatch/bench/result"
	"github.com/unwatch/unwatch/bench/stats"
)

// HoldTable is one number of locks.
type HoldTable struct {
	Scenario plan.Scenario
	Rows     []HoldRow
}

// HoldRow is one keeper: medians over the repetitions, and the worst where that is
// what matters.
type HoldRow struct {
	Impl              string
	Locks             float64
	Client, Redis     float64 // share of a core
	Megabytes         float64
	Watch             float64 // MB of it that are the watchdog's; NaN: not known
	Goroutines        float64
	Renewals, Flights float64 // a second
	LateP50, LateP99  float64 // ms
	LateMax           float64 // the worst of all, ms
	Lost              float64
	Foreign           float64
}

// HoldTables groups the holds of a file.
func HoldTables(f *result.File) []HoldTable {
	var tables []HoldTable
	for _, s := range plan.Scenarios() {
		t := HoldTable{Scenario: s}
		for _, name := range peers.Keepers() {
			if holds := f.HoldsOf(s.Name, name); len(holds) > 0 {
				t.Rows = append(t.Rows, holdRowOf(name, holds))
			}
		}
		t.watchOfTickers()
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func holdRowOf(name string, holds []*result.Hold) HoldRow {
	median := func(get func(*result.Hold) float64) float64 { return stats.By(holds, get).Median }
	late := func(q float64) float64 {
		return median(func(h *result.Hold) float64 { return result.Milli(h.Worker.Late.Dense().Quantile(q)) })
	}
	return HoldRow{
		Impl:   name,
		Locks:  float64(holds[0].Worker.Locks),
		Client: median((*result.Hold).ClientShare), Redis: median((*result.Hold).RedisShare),
		Megabytes:  median((*result.Hold).Megabytes),
		Watch:      median((*result.Hold).Watch),
		Goroutines: median(func(h *result.Hold) float64 { return float64(h.Worker.Goroutines) }),
		Renewals:   median((*result.Hold).Renewals), Flights: median((*result.Hold).Flights),
		LateP50: late(0.5), LateP99: late(0.99),
		LateMax: stats.By(holds, (*result.Hold).Latest).Max,
		Lost:    stats.By(holds, func(h *result.Hold) float64 { return float64(h.Lost) }).Max,
		Foreign: stats.By(holds, func(h *result.Hold) float64 { return h.ForeignCores }).Max,
	}
}

// watchOfTickers tells by how much the locks that tickers renew are larger than the same
// locks that nobody does: goroutines are in no profile of the heap.
func (t *HoldTable) watchOfTickers() {
	alone := math.NaN()
	for i := range t.Rows {
		switch r := &t.Rows[i]; r.Impl {
		case "none": // it comes first
			alone = r.Megabytes
		case "ticker":
			r.Watch = r.Megabytes - alone
		}
	}
}

// holdColumns are those of every table of locks.
func holdColumns() []column[HoldRow] {
	number := func(head string, get func(*HoldRow) float64) column[HoldRow] {
		return column[HoldRow]{head: head, cell: func(r *HoldRow) string { return stats.Short(get(r)) }}
	}
	return []column[HoldRow]{
		{head: "", cell: func(r *HoldRow) string { return r.Impl }},
		number("locks", func(r *HoldRow) float64 { return r.Locks }),
		number("client CPU %", func(r *HoldRow) float64 { return 100 * r.Client }),
		number("Redis CPU %", func(r *HoldRow) float64 { return 100 * r.Redis }),
		number("memory MB", func(r *HoldRow) float64 { return r.Megabytes }),
		number("watch MB", func(r *HoldRow) float64 { return r.Watch }),
		number("goroutines", func(r *HoldRow) float64 { return r.Goroutines }),
		number("renewals /s", func(r *HoldRow) float64 { return r.Renewals }),
		number("flights /s", func(r *HoldRow) float64 { return r.Flights }),
		number("late p50 ms", func(r *HoldRow) float64 { return r.LateP50 }),
		number("late p99 ms", func(r *HoldRow) float64 { return r.LateP99 }),
		number("late max ms", func(r *HoldRow) float64 { return r.LateMax }),
		number("lost", func(r *HoldRow) float64 { return r.Lost }),
	}
}

// Markdown is the table on the page.
func (t *HoldTable) Markdown() string { return gridOf(holdColumns(), t.Rows, true).markdown() }

func (t *HoldTable) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n", t.Scenario.Name, t.Scenario.Title())
	foreign := 0.0
	for _, r := range t.Rows {
		foreign = max(foreign, r.Foreign)
	}
	gridOf(holdColumns(), t.Rows, false).text(b, func(int) string { return "" })
	notQuiet(b, foreign)
}
