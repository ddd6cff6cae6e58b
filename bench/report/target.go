package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/unwatch/unwatch/bench/peers"
	"github.com/unwatch/unwatch/bench/result"
	"github.com/unwatch/unwatch/bench/stats"
)

// Target is what we want to reach, and whether we did.
type Target struct {
	What     string
	Want     string
	Measured string
	Verdict  string // met, MISSED, or not measured
}

// bound is a limit on a number.
type bound struct {
	limit float64
	most  bool // it is an upper limit
	unit  string
}

func (b bound) String() string {
	if b.most {
		return "<= " + stats.Short(b.limit) + b.unit
	}
	return ">= " + stats.Short(b.limit) + b.unit
}

func (b bound) judge(what string, v float64) Target {
	t := Target{what, b.String(), stats.Short(v) + b.unit, "MISSED"}
	switch {
	case math.IsNaN(v):
		t.Measured, t.Verdict = "-", "not measured"
	case b.most && v <= b.limit, !b.most && v >= b.limit:
		t.Verdict = "met"
	}
	return t
}

// missed counts the targets that were missed.
func missed(targets []Target) (n int) {
	for _, t := range targets {
		if t.Verdict == "MISSED" {
			n++
		}
	}
	return n
}

func atLeast(limit float64, unit string) bound { return bound{limit, false, unit} }
func atMost(limit float64, unit string) bound  { return bound{limit, true, unit} }

// Targets judges a run.
func Targets(f *result.File) []Target {
	tables := map[string]*Table{}
	for _, t := range Tables(f) {
		tables[t.Scenario.Name] = &t
	}
	var list []Target
	row := func(scenario, impl, what string, b bound, get func(*Row) float64) {
		v := math.NaN()
		if t := tables[scenario]; t != nil {
			if r := t.Row(impl); r != nil {
				v = get(r)
			}
		}
		list = append(list, b.judge(what, v))
	}
	times := func(r *Row) float64 { return r.TimesWatch }
	row("d-unc1", "unwatch", "1 goroutine, the same key, +1 ms: over WATCH", atLeast(1.45, "x"), times)
	row("d-turn1", "unwatch", "1 goroutine, keys in turn, +1 ms: over WATCH", atLeast(1.45, "x"), times)
	row("d-unc64", "unwatch", "64 goroutines, distinct keys, +1 ms: over WATCH", atLeast(1.8, "x"), times)
	row("d-unc64", "unwatch-get", "the same with plain reads, where nothing reads from replicas", atLeast(1.8, "x"), times)
	row("hot64", "unwatch", "hot key, 1x64, loopback: over WATCH", atLeast(150, "x"), times)
	row("d-hot64", "unwatch", "hot key, 1x64, +1 ms: over WATCH", atLeast(90, "x"), times)
	row("hot4x16", "unwatch", "hot key, 4x16, loopback: over WATCH", atLeast(50, "x"), times)
	row("d-hot4x16", "unwatch", "hot key, 4x16, +1 ms: over WATCH", atLeast(25, "x"), times)
	row("unc1", "unwatch-keep", "keeping, 1 goroutine, loopback: over WATCH", atLeast(2.3, "x"), times)
	row("d-unc1", "unwatch-keep", "keeping, 1 goroutine, +1 ms: over WATCH", atLeast(2.3, "x"), times)
	calls := func(r *Row) float64 { return r.Calls }
	row("hot64", "unwatch", "hot key, 1x64, loopback: server calls an update", atMost(0.2, ""), calls)
	row("d-hot64", "unwatch", "hot key, 1x64, +1 ms: server calls an update", atMost(0.2, ""), calls)
	share := func(r *Row) float64 { return 100 * r.Share }
	row("fair4x16", "unwatch", "4x16 for 10 s, loopback: worst process of the best", atLeast(60, " %"), share)
	row("d-fair4x16", "unwatch", "4x16 for 10 s, +1 ms: worst process of the best", atLeast(60, " %"), share)
	list = append(list, holdTargets(f)...)
	return append(list, soundness(f))
}

func holdTargets(f *result.File) []Target {
	var list []Target
	for _, s := range []struct{ name, title string }{{"hold10k", "10,000 locks"}, {"hold100k", "100,000 locks"}} {
		ours, tick := f.HoldsOf(s.name, "unwatch"), f.HoldsOf(s.name, "ticker")
		median := func(holds []*result.Hold, get func(*result.Hold) float64) float64 {
			if len(holds) == 0 {
				return math.NaN()
			}
			return stats.By(holds, get).Median
		}
		worst := func(get func(*result.Hold) float64) float64 {
			if len(ours) == 0 {
				return math.NaN()
			}
			return stats.By(ours, get).Max
		}
		// For as many renewals: tickers that cannot keep up would look cheap.
		of := func(get func(*result.Hold) float64) float64 {
			each := func(h *result.Hold) float64 { return stats.Ratio(get(h), h.Renewals()) }
			return stats.Ratio(median(ours, each), median(tick, each))
		}
		list = append(list,
			atMost(1.0/6, " of it").judge(s.title+": client CPU a renewal, against the tickers", of((*result.Hold).ClientShare)),
			atMost(1.0/3, " of it").judge(s.title+": Redis CPU a renewal, against the tickers", of((*result.Hold).RedisShare)),
			atMost(8, " MB").judge(s.title+": memory", median(ours, (*result.Hold).Megabytes)),
			atMost(8, " MB").judge(s.title+": memory of the watch alone", median(ours, (*result.Hold).Watch)),
			atMost(20, " ms").judge(s.title+": latest renewal", worst((*result.Hold).Latest)),
			atMost(0, "").judge(s.title+": lost", worst(func(h *result.Hold) float64 { return float64(h.Lost) })),
		)
	}
	return list
}

// soundness counts what must never be: our updates that were lost, stored twice,
// hung or failed, in all slots together.
func soundness(f *result.File) Target {
	bad, slots := 0.0, 0
	for i := range f.Slots {
		s := &f.Slots[i]
		if !peers.Ours(s.Impl) || s.Refused != "" {
			continue
		}
		slots++
		bad += float64(s.Lost() + s.Twice() + s.Hung() + s.Failed())
		if s.Crashed != "" {
			bad++
		}
	}
	if slots == 0 {
		bad = math.NaN()
	}
	what := fmt.Sprintf("ours, %d slots: updates lost, stored twice, hung or failed", slots)
	return atMost(0, "").judge(what, bad)
}

func targetsText(b *strings.Builder, f *result.File) {
	fmt.Fprintf(b, "\n%-62s %-14s %-14s %s\n", "target", "wanted", "measured", "")
	for _, t := range Targets(f) {
		fmt.Fprintf(b, "%-62s %-14s %-14s %s\n", t.What, t.Want, t.Measured, t.Verdict)
	}
}
