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
	const counter, gauge, histogram = exposition.Counter, exposition.Gauge, exposition.Histogram
	const byOp, byComparator = "domain op", "domain op comparator"
	var families []*exposition.Family
	add := func(name, kind, labels, help string) *exposition.Family {
		f := &exposition.Family{Name: "shadow_" + name, Kind: kind, Labels: labels, Help: help}
		if kind == histogram {
			f.Bounds = bounds()
		}
		families = append(families, f)
		return f
	}
	judged, h := r.Judge(p), r.Health
	operations := sortedBy(r.Operations, compareOperations)

	oneOf(add("verdict", gauge, "state", "1 for the state of the verdict, 0 for the others."), judged.State, Ready, NotReady, NotEnoughData)
	open := add("gate_ok", gauge, "gate domain op", "1 if this gate is open, 0 if it is closed or lacks data.")
	for _, g := range judged.Gates {
		open.Flag(g.State == Ready, g.Name, g.Domain, g.Operation)
	}
	add("started_timestamp_seconds", gauge, "", "When the counting began.").At(r.Started)
	add("taken_timestamp_seconds", gauge, "", "When this was counted.").At(r.Taken)

	eligible := add("calls_eligible_total", counter, byComparator, "Calls in the sample.")
	compared := add("calls_compared_total", counter, byComparator, "Calls compared.")
	notCompared := add("not_compared_total", counter, byComparator+" reason", "Calls not compared, by reason.")
	inFlight := add("calls_in_flight", gauge, byComparator, "Calls that are not compared yet.")
	outcomes := add("outcomes_total", counter, byComparator+" class", "Results of the comparisons of calls, by class.")
	keys := add("compared_keys", gauge, byOp, "Distinct keys of the calls compared, within a few percent.")
	divergences(add("divergences_total", counter, byComparator+" class path",
		"Differences, by path in the document; one call can have several."), operations)
	audited := add("chain_audited_commits_total", counter, byOp, "Commits of the free run whose place in the chain is known.")
	contended := add("chain_contended_commits_total", counter, byOp, "Of those, commits that had to wait or to try again.")
	forks := add("chain_forks_total", counter, byOp, "Acknowledged commits that are not in the chain, or twice.")
	took := add("path_duration_seconds", histogram, byOp+" path",
		"How long a path took for a call: legacy as its caller saw it, candidate in the shadow, without the queue.")
	for _, op := range operations {
		of := []string{op.Domain, op.Name}
		for _, c := range sortedKeys(op.Tallies) {
			t, by := op.Tallies[c], []string{op.Domain, op.Name, string(c)}
			eligible.Add(t.Eligible, by...)
			compared.Add(t.Compared, by...)
			addAll(notCompared, t.NotCompared, by...)
			inFlight.Add(t.InFlight, by...)
			addClasses(outcomes, t.Classes, by...)
		}
		keys.Add(op.Keys.Count(), of...)
		audited.Add(op.Audited, of...)
		contended.Add(op.Contended, of...)
		forks.Add(op.Tallies[Free].Classes[LostUpdate]+op.Tallies[Free].Classes[DoubleApply], of...)
		observe(took, op.Legacy, append(of, "legacy")...)
		observe(took, op.Candidate, append(of, "candidate")...)
	}

	calls := add("path_calls_total", counter, "path", "Calls of a path.")
	calls.Add(h.Legacy.Calls, "legacy")
	calls.Add(h.Candidate.Calls, "candidate")
	failed := add("path_errors_total", counter, "path reason", "Calls that a path could not answer, by reason; a refusal is an answer.")
	addAll(failed, h.Legacy.Errors, "legacy")
	addAll(failed, h.Candidate.Errors, "candidate")
	observe(add("lock_wait_seconds", histogram, "", "How long the candidate waited for other writers, in the free run."), h.LockWait)
	add("queue_depth", gauge, "", "Calls that wait to be compared.").Add(h.Queue)
	add("queue_depth_most", gauge, "", "Calls that waited at once, at most.").Add(h.QueueMost)
	add("queue_bytes", gauge, "", "Bytes of the calls that wait to be compared.").Add(h.QueueBytes)
	observe(add("queue_wait_seconds", histogram, "", "From the end of a call until a worker took it."), h.QueueWait)
	observe(add("lag_seconds", histogram, "", "From the end of a call to that of its comparison."), h.Lag)
	oneOf(add("breaker_state", gauge, "state", "1 for the state of the candidate's circuit breaker, 0 for the others."),
		cmp.Or(h.Breaker, "closed"), "closed", "half-open", "open")
	add("breaker_trips_total", counter, "", "How often the circuit breaker opened.").Add(h.BreakerTrips)
	add("panics_total", counter, "", "Panics of the candidate, or of a comparison.").Add(h.Panics)
	dirty := add("dirty_keys", gauge, "domain", "Keys in the report's list of those that diverge most, 20 of each process at most.")
	for _, k := range r.Keys {
		dirty.Add(1, k.Domain)
	}

	info := add("process_info", gauge, "process build asked effective",
		"1 for each process, with the mode that was asked for and the one in effect.")
	ramp := add("ramp_ratio", gauge, "process", "Share of the keys that are in the shadow, 0 to 1.")
	seen := add("process_seen_timestamp_seconds", gauge, "process", "When a process was last heard of.")
	for _, p := range sortedBy(r.Processes, compareNames) {
		info.Flag(true, p.Name, p.Build, p.Asked, p.Mode)
		ramp.Least(p.Percent/100, p.Name)
		seen.At(p.Seen, p.Name)
	}
	if err := exposition.Write(w, families...); err != nil {
		return fmt.Errorf("report: writing metrics: %w", err)
	}
	return nil
}

// bounds are the buckets of all histograms, in seconds. They are fixed, so that histograms of a fleet, and of
// two builds, add up.
func bounds() []float64 {
	return []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// observe adds a Latency to a series, unless it is empty.
func observe(f *exposition.Family, l Latency, labels ...string) {
	if l.Count() > 0 {
		within, count, sum := l.within(f.Bounds)
		f.Merge(within, count, sum, labels...)
	}
}

// oneOf sets the series of state to 1, and of the other states to 0.
func oneOf[S ~string](f *exposition.Family, state S, states ...S) {
	for _, s := range states {
		f.Flag(s == state, string(s))
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
