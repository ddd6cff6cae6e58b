package report_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// drawReport draws a report that adds up. It has few names, so that two reports share some.
func drawReport(t *rapid.T, label string) *report.Report {
	d := drawing{t, label}
	r := &report.Report{
		Schema: report.Schema, Name: d.of("name", "desk", "chat"), Build: d.of("build", "", "1", "2", "1,3"),
		Mode: d.of("mode", "", "off", "shadow", "reverse", "mixed"), Percent: float64(d.n("percent", 100)),
		Started: d.at("started"), Taken: reporttest.Start().Add(time.Hour),
		Verify: report.Verify{
			Rounds: int(d.n("rounds", 2)), Last: d.at("last"), Touched: d.n("touched", 2), Settled: int(d.n("settled", 3)),
			Findings: counts(d, "verified", report.TTLDiffers, report.ValueDiffers),
		},
		Health: report.Health{
			Legacy:    report.PathHealth{Calls: d.n("calls", 9), Errors: counts(d, "errors", "contended", "unavailable")},
			Candidate: report.PathHealth{Calls: d.n("calls", 9)},
			Breaker:   d.of("breaker", "closed", "half-open", "open"), QueueMost: d.n("most", 9), Lag: d.latency("lag"),
		},
	}
	for _, name := range d.some("operations", "a", "b", "a-very-long-name-of-an-operation-that-does-something") {
		r.Operations = append(r.Operations, d.operation(name))
	}
	for i := range d.n("minutes", 4) {
		at := r.Started.Add(time.Duration(i) * time.Minute)
		r.Timeline = append(r.Timeline, report.Minute{At: at, Compared: d.n("compared", 9), Diverged: i % 2})
	}
	for range d.n("peak", 3) {
		r.Peak.Add(report.Minute{At: d.at("minute"), Compared: d.n("compared", 9), NotCompared: d.n("not", 2), Dropped: d.n("dropped", 2)})
	}
	for range d.n("marks", 3) {
		r.Marks = append(r.Marks, report.Mark{At: d.at("mark"), What: d.of("what", "on", "off")})
	}
	for _, key := range d.some("keys", "k1", "k2", "k3\x1b[31m", "schlüssel-"+fmt.Sprint(d.n("key", 3))) {
		r.Keys = append(r.Keys, report.DirtyKey{
			Key: key, Domain: "room", Count: d.n("count", 5), Class: report.ValueDiffers, First: d.at("first"), OpID: d.of("id", "1", "2"),
		})
	}
	for range d.n("samples", 8) {
		r.Samples = append(r.Samples, report.Sample{
			Comparator: report.Seeded, Class: report.ValueDiffers, Domain: "room", Operation: d.of("op", "a", "b"),
			OpID: d.of("id", "1", "2"), At: d.at("at"), More: int(d.n("more", 2)),
			Explain: d.of("explain", "", "a sentence that says what this means, and is long enough to need two lines"),
			Differences: []report.Difference{
				{Path: d.of("path", "x", "y"), Legacy: "1", Candidate: d.of("token", "2", "~a-token-that-is-as-long-as-tokens-can-be")},
			},
		})
	}
	for _, name := range d.some("processes", "p1", "p2", "a-name-as-long-as-a-pod-has-6f7d9c5b4-x2x9z-and-longer") {
		r.Processes = append(r.Processes, report.Process{
			Name: name, Asked: "shadow", Mode: d.of("mode", "off", "shadow"), Percent: float64(d.n("percent", 1)), Seen: d.at("seen"),
			Reason: d.of("reason", "", "somebody-has-typed-a-reason-without-a-single-blank-in-it-which-goes-on-and-on-and-on"),
		})
	}
	if d.n("calibrated", 1) == 1 {
		r.Calibration = &report.Calibration{Taken: d.at("calibration"), Compared: d.n("compared", 9), Blocking: d.n("blocking", 1)}
	}
	return r
}

// drawing draws from small sets of values, some of them unusual.
type drawing struct {
	t     *rapid.T
	label string
}

func (d drawing) n(what string, most int64) int64 {
	return rapid.Int64Range(0, most).Draw(d.t, d.label+" "+what)
}

func (d drawing) of(what string, values ...string) string {
	return rapid.SampledFrom(values).Draw(d.t, d.label+" "+what)
}

func (d drawing) some(what string, values ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(values), 0, len(values), rapid.ID).Draw(d.t, d.label+" "+what)
}

// at draws a time in one of two zones.
func (d drawing) at(what string) time.Time {
	at := reporttest.Start().Add(time.Duration(d.n(what, 3)) * 30 * time.Second)
	if d.n("zone", 1) == 1 {
		return at.In(time.FixedZone("elsewhere", 3600))
	}
	return at
}

func (d drawing) latency(what string) (l report.Latency) {
	for range d.n(what, 5) {
		l.Record(time.Duration(d.n("took", 1e9)))
	}
	return l
}

func counts[K comparable](d drawing, what string, keys ...K) map[K]int64 {
	out := map[K]int64{}
	for _, key := range keys {
		if n := d.n(what, 4); n > 0 {
			out[key] = n
		}
	}
	return out
}

func (d drawing) operation(name string) report.Operation {
	op := report.Operation{
		Domain: "room", Name: name, Since: d.at("since"), Tallies: map[report.Comparator]report.Tally{},
		Legacy: d.latency("legacy"), Candidate: d.latency("candidate"), Audited: 9, Contended: d.n("contended", 9),
	}
	for _, comparator := range report.Comparators() {
		if d.n("ran", 3) == 0 {
			continue
		}
		t := report.Tally{
			InFlight:    d.n("in flight", 2),
			NotCompared: counts[report.Reason](d, "not compared", "dropped_queue", "not_applicable", "shadow_timeout"),
			Classes:     counts(d, "classes", report.Match, report.ValueDiffers, report.LostUpdate, report.DriftGap),
		}
		for _, n := range t.Classes {
			t.Compared += n
		}
		t.Eligible = t.Compared + t.InFlight
		for _, n := range t.NotCompared {
			t.Eligible += n
		}
		if n := t.Classes[report.ValueDiffers]; n > 0 {
			op.Findings = append(op.Findings, report.Finding{
				Comparator: comparator, Class: report.ValueDiffers, Count: n, First: d.at("first"), Last: d.at("last"),
				Path: d.of("path", "", "x", "members[].a_very_long_path_that_goes_on.and_on.and_on.and_on.and_on.until_it_ends"),
			})
		}
		op.Tallies[comparator] = t
	}
	if n := op.Tallies[report.Seeded].Compared; n > 0 {
		op.Outcomes = map[string]int64{d.of("outcome", "ok", "room_full"): n}
	}
	for range d.n("keys", 3) {
		op.Keys.Add(uint64(d.n("hash", 5)))
	}
	return op
}
