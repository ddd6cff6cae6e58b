package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// Target is a goal of this project, with its result.
type Target struct {
	What     string
	Want     string
	Measured string
	Verdict  string // met, restated if only the restated limit is met, MISSED, or not measured
}

// bound is a limit on a number.
type bound struct {
	limit    float64
	most     bool // upper limit
	unit     string
	restated float64 // the limit that can be reached, if limit cannot; 0: limit can be
}

// restate returns the bound with a limit that can be reached. The page says why limit cannot be.
func (b bound) restate(restated float64) bound {
	b.restated = restated
	return b
}

func (b bound) String() string {
	sign := ">= "
	if b.most {
		sign = "<= "
	}
	text := sign + stats.Short(b.limit) + b.unit
	if b.restated != 0 {
		text += ", now " + stats.Short(b.restated) + b.unit
	}
	return text
}

func (b bound) judge(what string, v float64) Target {
	t := Target{what, b.String(), stats.Short(v) + b.unit, "MISSED"}
	within := func(limit float64) bool { return b.most && v <= limit || !b.most && v >= limit }
	switch {
	case math.IsNaN(v):
		t.Measured, t.Verdict = "-", "not measured"
	case within(b.limit):
		t.Verdict = "met"
	case b.restated != 0 && within(b.restated):
		t.Verdict = "restated"
	}
	return t
}

// judged returns the targets with this verdict.
func judged(targets []Target, verdict string) []Target {
	return slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return t.Verdict != verdict })
}

func atLeast(limit float64, unit string) bound { return bound{limit: limit, unit: unit} }
func atMost(limit float64, unit string) bound  { return bound{limit: limit, most: true, unit: unit} }

// Targets compares a run with the targets.
func Targets(f *result.File) []Target {
	tables := map[string]*Table{}
	for _, t := range Tables(f) {
		tables[t.Scenario.Name] = &t
	}
	var list []Target
	row := func(scenario, impl, what string, b bound, get func(*Row) float64) {
		v, backoff := math.NaN(), math.NaN()
		if t := tables[scenario]; t != nil {
			if r := t.Row(impl); r != nil {
				v, backoff = get(r), r.TimesBackoff
			}
		}
		target := b.judge(what, v)
		if b.unit == "x" && !math.IsNaN(backoff) {
			target.Measured += " (+bo " + stats.Short(backoff) + "x)"
		}
		list = append(list, target)
	}
	// both adds a target for updates that always lock, and one for updates on demand.
	both := func(scenario, load, what string, always, onDemand bound, get func(*Row) float64) {
		row(scenario, "unwatch", load+": "+what, always, get)
		row(scenario, "unwatch-ondemand", load+", on demand: "+what, onDemand, get)
	}
	times, calls := measure("x WATCH"), measure("calls")
	x := func(limit float64) bound { return atLeast(limit, "x") }
	for _, t := range []struct {
		scenario, load   string
		always, onDemand bound
	}{
		{"unc1", "1 goroutine, loopback", x(0.95).restate(0.6), x(1.2).restate(0.7)},
		{"d-unc1", "1 goroutine, +1 ms", x(1.42), x(1.45).restate(1.42)},
		{"d-turn1", "1 goroutine, keys in turn, +1 ms", x(1.42), x(1.45).restate(1.42)},
		{"unc8", "8 goroutines, distinct keys, loopback", x(1).restate(0.75), x(1.3).restate(0.9)},
		{"unc64", "64 goroutines, distinct keys, loopback", x(1.5).restate(1.25), x(2.2).restate(1.7)},
		{"d-unc64", "64 goroutines, distinct keys, +1 ms", x(1.4).restate(1.3), x(1.6).restate(1.5)},
		{"hot64", "hot key, 1x64, loopback", x(150).restate(100), x(150).restate(100)},
		{"d-hot64", "hot key, 1x64, +1 ms", x(100).restate(90), x(100).restate(90)},
		{"hot4x16", "hot key, 4x16, loopback", x(50), x(50)},
		{"d-hot4x16", "hot key, 4x16, +1 ms", x(25).restate(20), x(25).restate(20)},
		{"hot16x1", "hot key, 16x1, loopback", x(1), x(1)},
		{"zipf64", "64 goroutines, 100 Zipf keys, loopback", x(13), x(13)},
		{"d-zipf64", "64 goroutines, 100 Zipf keys, +1 ms", x(11), x(11)},
	} {
		both(t.scenario, t.load, "over WATCH", t.always, t.onDemand, times)
	}
	row("unc1", "unwatch-inline", "1 goroutine, loopback, WaitForReply: over WATCH", x(1.2), times)
	row("unc8", "unwatch-inline", "8 goroutines, distinct keys, loopback, WaitForReply: over WATCH", x(1.3), times)
	row("d-unc64", "unwatch-get", "64 goroutines, distinct keys, +1 ms, plain reads: over WATCH", x(1.4).restate(1.3), times)
	row("unc1", "unwatch-keep", "keeping, 1 goroutine, loopback: over WATCH", x(2.3).restate(1.4), times)
	row("d-unc1", "unwatch-keep", "keeping, 1 goroutine, +1 ms: over WATCH", x(2.3), times)
	for _, shape := range []string{"4x1", "2x4"} {
		load := shape + " beside " + shape + " with WATCH, fn of 20 ms"
		both("beside"+shape, load, "share of updates", atLeast(30, " %"), atLeast(30, " %"), measure("share %"))
	}
	// The counts may include the last release of the warm-up.
	const rest = 0.1
	alone := "1 goroutine, loopback"
	both("unc1", alone, "flights an update, with the release", atMost(3+rest, ""), atMost(2+rest, ""), measure("reads"))
	both("unc1", alone, "commands an update", atMost(4+rest, ""), atMost(3+rest, ""), measure("commands"))
	both("unc1", alone, "server calls an update", atMost(12+rest, ""), atMost(6+rest, ""), calls)
	both("unc1", alone, "allocations an update", atMost(60, "").restate(80), atMost(45, "").restate(65), measure("allocs"))
	row("hot64", "unwatch", "hot key, 1x64, loopback: server calls an update", atMost(0.2, ""), calls)
	row("d-hot64", "unwatch", "hot key, 1x64, +1 ms: server calls an update", atMost(0.2, ""), calls)
	both("fair4x16", "4x16 for 10 s, loopback", "worst process of the best", atLeast(60, " %"), atLeast(60, " %"), measure("worst %"))
	both("d-fair4x16", "4x16 for 10 s, +1 ms", "worst process of the best", atLeast(60, " %"), atLeast(60, " %"), measure("worst %"))
	list = append(list, holdTargets(f)...)
	return append(list, soundness(f))
}

func holdTargets(f *result.File) []Target {
	var list []Target
	for _, s := range []struct {
		name, title   string
		memory, watch float64 // MB
	}{{"hold10k", "10,000 locks", 8, 8}, {"hold100k", "100,000 locks", 45, 6}} {
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
		// Per renewal: tickers that skip renewals would look cheap.
		of := func(get func(*result.Hold) float64) float64 {
			each := func(h *result.Hold) float64 { return stats.Ratio(get(h), h.Renewals()) }
			return stats.Ratio(median(ours, each), median(tick, each))
		}
		list = append(list,
			atMost(1.0/6, " of it").judge(s.title+": client CPU a renewal, against the tickers", of((*result.Hold).ClientShare)),
			atMost(1.0/3, " of it").judge(s.title+": Redis CPU a renewal, against the tickers", of((*result.Hold).RedisShare)),
			atMost(s.memory, " MB").judge(s.title+": memory", median(ours, (*result.Hold).Megabytes)),
			atMost(s.watch, " MB").judge(s.title+": memory of the watch alone", median(ours, (*result.Hold).Watch)),
			atMost(20, " ms").judge(s.title+": latest renewal", worst((*result.Hold).Latest)),
			atMost(0, "").judge(s.title+": lost", worst(func(h *result.Hold) float64 { return float64(h.Lost) })),
		)
	}
	return list
}

// soundness counts updates of this project that were lost, stored twice, hung or failed, in all
// slots.
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
	fmt.Fprintf(b, "\n%-68s %-12s %-16s %s\n", "target", "wanted", "measured", "")
	for _, t := range Targets(f) {
		first, _, _ := strings.Cut(t.Want, ",")
		fmt.Fprintf(b, "%-68s %-12s %-16s %s\n", t.What, first, t.Measured, t.Verdict)
	}
}
