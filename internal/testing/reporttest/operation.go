package reporttest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/shadow/report"
)

// operation describes an operation of an example.
type operation struct {
	domain, name string
	calls        int64            // compared, by each comparator
	keys         int              // among them
	refused      map[string]int64 // by outcome; the rest is "ok"
	contended    int64            // commits of the free run
	differ       int64            // calls with a lost rating
}

func operations() []operation {
	return []operation{
		{"chat", "join", 61_204, 8_420, map[string]int64{"no-op": 1_120, "room_full": 388, "room_closed": 41}, 1_507, 0},
		{"chat", "leave", 58_090, 8_211, map[string]int64{"not_member": 207}, 1_902, 0},
		{"session", "close", 46_113, 17_802, map[string]int64{"session_closed": 340}, 402, 0},
		{"session", "open", 49_020, 18_112, map[string]int64{"session_exists": 71}, 0, 0},
		{"session", "transfer", 31_009, 9_702, map[string]int64{"moved_on": 77, "same_agent": 29}, 211, 0},
	}
}

func (o operation) build(seed uint64) report.Operation {
	out := report.Operation{
		Domain: o.domain, Name: o.name, Since: Start(),
		Tallies: map[report.Comparator]report.Tally{}, Outcomes: map[string]int64{"ok": o.calls},
		Audited: o.calls - o.calls/500, Contended: o.contended,
	}
	for outcome, n := range o.refused {
		out.Outcomes[outcome] = n
		out.Outcomes["ok"] -= n
	}
	for _, comparator := range report.Comparators() {
		out.Tallies[comparator] = o.tally(comparator)
	}
	if o.differ > 0 {
		first := Start().Add(5*time.Hour + 34*time.Minute)
		out.Findings = append(out.Findings, report.Finding{
			Comparator: report.Seeded, Class: report.ValueDiffers, Path: "rating", Count: o.differ,
			First: first, Last: first.Add(19 * time.Minute),
		})
	}
	if n := out.Tallies[report.Seeded].Classes[report.EncodingOnly]; n > 0 {
		out.Findings = append(out.Findings, report.Finding{
			Comparator: report.Seeded, Class: report.EncodingOnly, Count: n, First: Start().Add(time.Minute), Last: Start().Add(lasted),
		})
	}
	for i := range o.keys {
		out.Keys.Add(scatter(seed<<32 | uint64(i)))
	}
	n := int(min(o.calls, 4_000)) // a larger sample would only take time
	record(&out.Legacy, 2*seed, n, 1300*time.Microsecond, 0.55)
	record(&out.Candidate, 2*seed+1, n, 2150*time.Microsecond, 0.5)
	return out
}

func (o operation) tally(comparator report.Comparator) report.Tally {
	quiet := o.refused["no-op"]
	t := report.Tally{Compared: o.calls, NotCompared: map[report.Reason]int64{}, Classes: map[report.Class]int64{}}
	switch comparator {
	case report.Seeded:
		t.InFlight = 1
		t.Classes[report.ValueDiffers] = o.differ
		t.Classes[report.EncodingOnly] = o.calls / 9
		t.NotCompared["dropped_queue"] = o.calls / 1400
		t.NotCompared["primary_failed"] = o.calls / 900
		t.NotCompared["primary_indeterminate"] = o.calls / 30_000
	case report.Free:
		t.NotCompared["dropped_queue"] = o.calls / 1400
		t.NotCompared["shadow_unavailable"] = o.calls / 35_000
		t.NotCompared["shadow_timeout"] = o.calls / 20_000
		t.NotCompared["not_applicable"] = o.calls / 60
	}
	t.Classes[report.MatchNoop] = quiet
	t.Eligible = t.Compared + t.InFlight
	for reason, n := range t.NotCompared {
		t.Eligible += n
		if n == 0 {
			delete(t.NotCompared, reason)
		}
	}
	t.Classes[report.Match] = t.Compared
	for class, n := range t.Classes {
		if class != report.Match {
			t.Classes[report.Match] -= n
		}
		if n == 0 {
			delete(t.Classes, class)
		}
	}
	return t
}

// record counts n durations, log-normal around median.
func record(l *report.Latency, seed uint64, n int, median time.Duration, sigma float64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range n {
		l.Record(time.Duration(float64(median) * math.Exp(sigma*random.NormFloat64())))
	}
}

// scatter is a deterministic hash: the finaliser of SplitMix64.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
