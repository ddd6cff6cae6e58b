// Package reporttest makes example reports for tests, of a customer-service back end. There is one for
// each state, and each call returns the same.
package reporttest

import (
	"time"

	"github.com/unwatch/unwatch/shadow/report"
)

// Start returns the start of the counts of all examples. They were taken six hours and twelve
// minutes later.
func Start() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

const lasted = 6*time.Hour + 12*time.Minute

// Ready returns a report that is ready: one process and five operations, with enough calls
// and without differences.
func Ready() *report.Report {
	return with(func(*operation) {})
}

// with changes the operations of the report that is ready.
func with(change func(*operation)) *report.Report {
	r := base()
	for i, op := range operations() {
		change(&op)
		r.Operations = append(r.Operations, op.build(uint64(i)))
	}
	for _, m := range minutes() {
		r.Peak.Add(m)
	}
	return r
}

// NotReady returns a report with one bug: three times, session/close stored no rating, and the
// legacy path did. The sample of session/transfer is too small besides.
func NotReady() *report.Report {
	r := with(func(op *operation) {
		switch op.domain + "/" + op.name {
		case "session/close":
			op.differ = 3
		case "session/transfer":
			op.calls = 27_434
		}
	})
	first := Start().Add(5*time.Hour + 34*time.Minute)
	for i, id := range []string{"op-7f3a91c2", "op-80b1d4e7", "op-91c05a3f"} {
		at := first.Add([]time.Duration{0, 11 * time.Second, 19 * time.Minute}[i])
		key := []string{"cs:session:{~4be1}", "cs:session:{~a07c}", "cs:session:{~d953}"}[i]
		r.Samples = append(r.Samples, report.Sample{
			Comparator: report.Seeded, Class: report.ValueDiffers, Domain: "session", Operation: "close",
			OpID: id, Key: key, At: at, Process: "desk-0",
			Differences: []report.Difference{
				{Path: "rating", Legacy: "0", Candidate: "(absent)"},
				{Path: "closed.note", Legacy: "~3fa8", Candidate: "~b91c"},
			}[:1+i%2],
			More: i, Legacy: "ok", Candidate: "ok", LegacyExpiry: "720h0m0s", CandidateExpiry: "720h0m0s",
			Explain: "the candidate leaves a field out that the legacy path stores with its zero value",
		})
		r.Keys = append(r.Keys, report.DirtyKey{
			Key: key, Domain: "session", Count: 1, Class: report.ValueDiffers, Path: "rating", First: at, OpID: id,
		})
	}
	return r
}

// Thin returns a report without failed gates. session/transfer has too few calls, on too few
// keys, and only two refusals with moved_on.
func Thin() *report.Report {
	return with(func(op *operation) {
		if op.domain == "session" && op.name == "transfer" {
			op.calls, op.keys, op.refused = 27_434, 2_100, map[string]int64{"no-op": 310, "moved_on": 2}
		}
	})
}

// Empty returns a report from before the first call.
func Empty() *report.Report {
	return &report.Report{
		Schema: report.Schema, Name: "customer service", Build: "4f1c2e9", Mode: "shadow", Percent: 100,
		Started: Start(), Taken: Start(),
		Health: report.Health{Breaker: "closed"},
		Processes: []report.Process{
			{Name: "desk-0", Build: "4f1c2e9", Asked: "shadow", Mode: "shadow", Percent: 100, Seen: Start(), Breaker: "closed"},
		},
	}
}

// Fleet returns a report of five processes that disagree: one has another mode than the one set,
// one is silent, and one has another build and an open breaker.
func Fleet() *report.Report {
	r := Ready()
	taken := r.Taken
	r.Mode, r.Build = "mixed", "4f1c2e9,b7702ad"
	r.Percent = 0
	like := func(name string, silent time.Duration) report.Process {
		return report.Process{
			Name: name, Build: "4f1c2e9", Asked: "shadow", Mode: "shadow", Percent: 100, Seen: taken.Add(-silent), Breaker: "closed",
		}
	}
	r.Processes = []report.Process{
		r.Processes[0],
		like("desk-1", 2*time.Second),
		{
			Name: "desk-2", Build: "4f1c2e9", Asked: "shadow", Mode: "off",
			Reason: "the control key could not be read for 14m0s", Seen: taken.Add(-time.Second), Breaker: "closed",
		},
		like("desk-3", 41*time.Minute),
		{
			Name: "desk-api-with-a-name-as-long-as-a-pod-has-6f7d9c5b4-x2x9z", Build: "b7702ad", Asked: "shadow", Mode: "shadow",
			Percent: 100, Seen: taken, Queue: 211, Breaker: "half-open",
		},
	}
	r.Health.Breaker, r.Health.BreakerTrips, r.Health.Queue, r.Health.QueueBytes = "half-open", 2, 214, 611_904
	r.Marks = append(r.Marks, report.Mark{At: Start().Add(5*time.Hour + 58*time.Minute), What: "desk-2: off", Why: "no control key"})
	return r
}

// base returns the report that is ready, without operations and minutes.
func base() *report.Report {
	taken := Start().Add(lasted)
	r := &report.Report{
		Schema: report.Schema, Name: "customer service", Build: "4f1c2e9", Mode: "shadow", Percent: 100,
		Started: Start(), Taken: taken,
		Health: report.Health{
			Legacy:    report.PathHealth{Calls: 1_204_511, Errors: map[string]int64{"unavailable": 31, "contended": 12}},
			Candidate: report.PathHealth{Calls: 1_203_877, Errors: map[string]int64{"unavailable": 34, "contended": 9}},
			Breaker:   "closed", Queue: 3, QueueBytes: 1_912, QueueMost: 188,
		},
		Marks: []report.Mark{
			{At: Start(), What: "shadow, 10 %", Why: "first day"},
			{At: Start().Add(5*time.Hour + 26*time.Minute), What: "shadow, 100 %", Why: "10 % was quiet"},
		},
		Processes: []report.Process{
			{Name: "desk-0", Build: "4f1c2e9", Asked: "shadow", Mode: "shadow", Percent: 100, Seen: taken, Queue: 3, Breaker: "closed"},
		},
		Calibration: &report.Calibration{Taken: Start().Add(-20 * time.Hour), Compared: 412_000},
	}
	record(&r.Health.Lag, 101, 6000, 2600*time.Microsecond, 0.8)
	record(&r.Health.QueueWait, 102, 6000, 240*time.Microsecond, 0.9)
	record(&r.Health.LockWait, 103, 6000, 900*time.Microsecond, 1.1)
	return r
}

// minutes returns the last hour.
func minutes() []report.Minute {
	all := make([]report.Minute, 60)
	for i := range all {
		// The load rises, and has a peak.
		n := 1_400 + int64(i)*11 + int64(i*i%7)*23
		if i >= 31 && i < 36 {
			n += 900
		}
		all[i] = report.Minute{At: Start().Add(lasted - time.Duration(60-i)*time.Minute), Compared: n}
		if i%17 == 5 {
			all[i].NotCompared = n / 400
			all[i].Dropped = n / 800
		}
	}
	return all
}
