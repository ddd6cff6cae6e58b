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
	Impl, Note        string
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

const holdLine = "%-12s %8s %8s %8s %7s %10s %10s %9s %7s %7s %7s %5s\n"

func (t *HoldTable) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s; measured with %s\n", t.Scenario.Name, t.Scenario.Title(), stats.Short(t.Rows[0].Locks))
	fmt.Fprintf(b, holdLine, "", "client", "redis", "memory", "watch", "goroutines", "renewals", "flights", "late", "", "", "lost")
	fmt.Fprintf(b, holdLine, "", "CPU %", "CPU %", "MB", "MB", "", "/s", "/s", "p50 ms", "p99", "max", "")
	foreign := 0.0
	for _, r := range t.Rows {
		fmt.Fprintf(b, holdLine, r.Impl, stats.Short(100*r.Client), stats.Short(100*r.Redis), stats.Short(r.Megabytes),
			stats.Short(r.Watch), stats.Short(r.Goroutines), stats.Short(r.Renewals), stats.Short(r.Flights),
			stats.Short(r.LateP50), stats.Short(r.LateP99), stats.Short(r.LateMax), stats.Short(r.Lost))
		foreign = max(foreign, r.Foreign)
	}
	if foreign > result.Quiet {
		fmt.Fprintf(b, "NOT QUIET: others used up to %.2f cores meanwhile; do not rely on this table\n", foreign)
	}
}
