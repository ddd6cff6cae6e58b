package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/unwatch/unwatch/internal/exposition"
)

// MetricsType is the Content-Type of [Report.WriteMetrics].
const MetricsType = exposition.Type

// WriteMetrics writes the Report, judged by p, in the text format of Prometheus, which most other
// monitoring systems scrape too: [MetricsType]. The order of the series is fixed.
//
// Every name begins with "shadow_", so that names such as "path_duration_seconds" and "gate_ok"
// do not collide with those of other libraries.
//
// Durations are histograms: they count from the start, so the difference of two scrapes describes
// the time between, and they add up over a fleet. Bounds are exact to the two digits of [Latency].
//
// Labels are names of domains, operations, processes and builds, templates of paths, and fixed
// words. Keys, values, operation ids and samples are never labels. The first 200 paths with a
// difference have a series of their own, so that no series ends. The others have path="other".
func (r *Report) WriteMetrics(w io.Writer, p Policy) error {
	var families []*exposition.Family
	for _, m := range r.metrics(r.Judge(p)) {
		f := &exposition.Family{Name: m.name, Kind: m.kind, Help: m.help, Labels: m.labels}
		m.fill(f)
		families = append(families, f)
	}
	if err := exposition.Write(w, families...); err != nil {
		return fmt.Errorf("report: writing metrics: %w", err)
	}
	return nil
}

type metric struct {
	name, kind, help string
	labels           string // names, with blanks
	fill             func(*exposition.Family)
}

const counter, gauge, histogram = exposition.Counter, exposition.Gauge, exposition.Histogram

// metrics lists all metrics in order. Series are in the order of their names.
func (r *Report) metrics(verdict Verdict) []metric {
	const byOp, byComparator = "domain op", "domain op comparator"
	h, v, operations := r.Health, r.Verify, sortedBy(r.Operations, compareOperations)
	each := func(add func(f *exposition.Family, op Operation, labels ...string)) func(*exposition.Family) {
		return func(f *exposition.Family) {
			for _, op := range operations {
				add(f, op, op.Domain, op.Name)
			}
		}
	}
	tallies := func(add func(f *exposition.Family, t Tally, labels ...string)) func(*exposition.Family) {
		return each(func(f *exposition.Family, op Operation, labels ...string) {
			for _, c := range sortedKeys(op.Tallies) {
				add(f, op.Tallies[c], append(labels, string(c))...)
			}
		})
	}
	operation := func(get func(Operation) int64) func(*exposition.Family) {
		return each(func(f *exposition.Family, op Operation, labels ...string) { f.Add(get(op), labels...) })
	}
	tally := func(get func(Tally) int64) func(*exposition.Family) {
		return tallies(func(f *exposition.Family, t Tally, labels ...string) { f.Add(get(t), labels...) })
	}
	processes := func(add func(f *exposition.Family, p Process)) func(*exposition.Family) {
		return func(f *exposition.Family) {
			for _, p := range sortedBy(r.Processes, compareNames) {
				add(f, p)
			}
		}
	}
	return []metric{
		{"shadow_verdict", gauge, "1 for what all gates come to, 0 for the others.", "state",
			oneOf(verdict.State, Ready, NotReady, NotEnoughData)},
		{"shadow_gate_ok", gauge, "1 if this gate is open, 0 if something stands against it or too little is known.", "gate domain op",
			func(f *exposition.Family) {
				for _, g := range verdict.Gates {
					f.Flag(g.State == Ready, g.Name, g.Domain, g.Operation)
				}
			}},
		{"shadow_started_timestamp_seconds", gauge, "When the counting began.", "", func(f *exposition.Family) { f.At(r.Started) }},
		{"shadow_taken_timestamp_seconds", gauge, "When this was counted.", "", func(f *exposition.Family) { f.At(r.Taken) }},

		{"shadow_calls_eligible_total", counter, "Calls sampled in, by who was to compare them.", byComparator,
			tally(func(t Tally) int64 { return t.Eligible })},
		{"shadow_calls_compared_total", counter, "Calls compared.", byComparator, tally(func(t Tally) int64 { return t.Compared })},
		{"shadow_not_compared_total", counter, "Calls not compared, by why.", byComparator + " reason",
			tallies(func(f *exposition.Family, t Tally, labels ...string) { addAll(f, t.NotCompared, labels...) })},
		{"shadow_calls_in_flight", gauge, "Calls on their way to their comparison.", byComparator,
			tally(func(t Tally) int64 { return t.InFlight })},
		{"shadow_outcomes_total", counter, "What the comparisons of calls came to.", byComparator + " class",
			tallies(func(f *exposition.Family, t Tally, labels ...string) { addClasses(f, t.Classes, labels...) })},
		{"shadow_compared_keys", gauge, "Distinct keys of the calls compared, within a few percent.", byOp,
			operation(func(op Operation) int64 { return op.Keys.Count() })},
		{"shadow_divergences_total", counter, "What differed, by where in the document; one call can differ at several places.",
			byComparator + " class path", func(f *exposition.Family) { divergences(f, operations) }},

		{"shadow_chain_audited_commits_total", counter, "Commits of the free run whose place in the chain is known.", byOp,
			operation(func(op Operation) int64 { return op.Audited })},
		{"shadow_chain_contended_commits_total", counter, "Of those, commits that had to wait or to try again.", byOp,
			operation(func(op Operation) int64 { return op.Contended })},
		{"shadow_chain_forks_total", counter, "Acknowledged commits that are not in the chain, or twice.", byOp,
			operation(func(op Operation) int64 {
				return op.Tallies[Free].Classes[LostUpdate] + op.Tallies[Free].Classes[DoubleApply]
			})},

		{"shadow_path_duration_seconds", histogram,
			"How long a path took for a call: legacy as its caller saw it, candidate in the shadow, without the queue.", byOp + " path",
			each(func(f *exposition.Family, op Operation, labels ...string) {
				observe(f, op.Legacy, append(labels, "legacy")...)
				observe(f, op.Candidate, append(labels, "candidate")...)
			})},
		{"shadow_path_calls_total", counter, "Calls of a path.", "path", func(f *exposition.Family) {
			f.Add(h.Legacy.Calls, "legacy")
			f.Add(h.Candidate.Calls, "candidate")
		}},
		{"shadow_path_errors_total", counter, "Calls that a path could not answer, by why; a refusal is an answer.", "path reason",
			func(f *exposition.Family) {
				addAll(f, h.Legacy.Errors, "legacy")
				addAll(f, h.Candidate.Errors, "candidate")
			}},
		{"shadow_lock_wait_seconds", histogram, "How long the candidate waited for other writers, in the free run.", "",
			observed(h.LockWait)},

		{"shadow_queue_depth", gauge, "Calls that wait to be compared.", "", count(h.Queue)},
		{"shadow_queue_depth_most", gauge, "Calls that waited at once, at most.", "", count(h.QueueMost)},
		{"shadow_queue_bytes", gauge, "What the calls that wait hold.", "", count(h.QueueBytes)},
		{"shadow_queue_wait_seconds", histogram, "From the end of a call until a worker took it.", "", observed(h.QueueWait)},
		{"shadow_lag_seconds", histogram, "From the end of a call to that of its comparison.", "", observed(h.Lag)},
		{"shadow_breaker_state", gauge, "1 for the state of the candidate's circuit breaker, 0 for the others.", "state",
			oneOf(cmp.Or(h.Breaker, "closed"), "closed", "half-open", "open")},
		{"shadow_breaker_trips_total", counter, "How often the circuit breaker opened.", "", count(h.BreakerTrips)},
		{"shadow_panics_total", counter, "Panics of the candidate, or of a comparison.", "", count(h.Panics)},
		{"shadow_resync_total", counter, "Keys copied anew, by why.", "cause", func(f *exposition.Family) { addAll(f, h.Resyncs) }},
		{"shadow_dirty_keys", gauge, "Keys in the report's list of those that diverge most, 20 of each process at most.", "domain",
			func(f *exposition.Family) {
				for _, k := range r.Keys {
					f.Add(1, k.Domain)
				}
			}},

		// The verifier's counts of keys describe its last round, so they are gauges.
		{"shadow_verify_round", gauge, "How many rounds the verifier has ended.", "", count(int64(v.Rounds))},
		{"shadow_verify_settled_rounds", gauge, "Rounds in a row in which all keys were equal.", "", count(int64(v.Settled))},
		{"shadow_verify_last_timestamp_seconds", gauge, "When the last round ended.", "", func(f *exposition.Family) { f.At(v.Last) }},
		{"shadow_verify_touched_keys", gauge, "Keys in the verifier's registry, at its last round.", "", count(v.Touched)},
		{"shadow_verify_evicted_keys", gauge, "Keys that the registry had no room for: they are never verified.", "", count(v.Evicted)},
		{"shadow_verify_keys", gauge, "Keys of the verifier's last round, by what came out; untimed is equal, but without the expiry.",
			"result", func(f *exposition.Family) {
				if v.Rounds > 0 {
					f.Add(v.Equal-v.Untimed, "equal")
					f.Add(v.Untimed, "untimed")
					f.Add(v.Pending, "pending")
					f.Add(v.Unknown, "unknown")
					f.Add(v.Checked-v.Equal-v.Pending-v.Unknown, "different")
				}
			}},
		{"shadow_verify_findings_total", counter, "Differences that the verifier has confirmed.", "class",
			func(f *exposition.Family) { addClasses(f, v.Findings) }},

		{"shadow_process_info", gauge, "1 for each process: the mode somebody asked for, and what is in effect.",
			"process build asked effective",
			processes(func(f *exposition.Family, p Process) { f.Flag(true, p.Name, p.Build, p.Asked, p.Mode) })},
		{"shadow_ramp_ratio", gauge, "Share of the keys that are in the shadow, 0 to 1.", "process",
			processes(func(f *exposition.Family, p Process) { f.Least(p.Percent/100, p.Name) })},
		{"shadow_process_seen_timestamp_seconds", gauge, "When a process was last heard of.", "process",
			processes(func(f *exposition.Family, p Process) { f.At(p.Seen, p.Name) })},
	}
}

// bounds are the buckets of all histograms, in seconds. They are fixed, so that histograms of a fleet, and of
// two builds, add up.
func bounds() []float64 {
	return []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// observe adds a Latency to a series, unless it is empty.
func observe(f *exposition.Family, l Latency, labels ...string) {
	if l.Count() > 0 {
		f.Bounds = bounds()
		within, count, sum := l.within(f.Bounds)
		f.Merge(within, count, sum, labels...)
	}
}

func count(n int64) func(*exposition.Family) { return func(f *exposition.Family) { f.Add(n) } }
func observed(l Latency) func(*exposition.Family) {
	return func(f *exposition.Family) { observe(f, l) }
}

// oneOf sets the series of state to 1, and of the other states to 0.
func oneOf[S ~string](state S, states ...S) func(*exposition.Family) {
	return func(f *exposition.Family) {
		for _, s := range states {
			f.Flag(s == state, string(s))
		}
	}
}

// addAll adds counts by name. The name is the last label.
func addAll[K ~string](f *exposition.Family, counts map[K]int64, labels ...string) {
	for _, name := range sortedKeys(counts) {
		f.Add(counts[name], append(slices.Clip(labels), string(name))...)
	}
}

// addClasses adds counts by class. Blocking classes have a series before their first event.
func addClasses(f *exposition.Family, counts map[Class]int64, labels ...string) {
	for _, class := range Classes() {
		if class.Blocks() {
			f.Add(0, append(slices.Clip(labels), string(class))...)
		}
	}
	addAll(f, counts, labels...)
}

// divergences counts differences by place, with a bound on the number of places. The oldest
// places keep their path, not the most frequent: a counter must never move to "other".
func divergences(out *exposition.Family, operations []Operation) {
	const mostPaths = 200
	type place struct {
		op Operation
		f  Finding
	}
	var all []place
	for _, op := range operations {
		for _, f := range op.Findings {
			all = append(all, place{op, f})
		}
	}
	compare := func(a, b place) int { return cmp.Or(compareOperations(a.op, b.op), compareFindings(a.f, b.f)) }
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Or(a.f.First.Compare(b.f.First), compare(a, b)) })
	paths := 0
	for i := range all {
		if all[i].f.Path == "" { // one series by class, within the bound anyway
			continue
		}
		if paths++; paths > mostPaths {
			all[i].f.Path = "other"
		}
	}
	slices.SortStableFunc(all, compare)
	for _, d := range all {
		out.Add(d.f.Count, d.op.Domain, d.op.Name, string(d.f.Comparator), string(d.f.Class), d.f.Path)
	}
}
