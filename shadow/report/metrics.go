package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// MetricsType is the Content-Type of what [Report.WriteMetrics] writes.
const MetricsType = "text/plain; version=0.0.4; charset=utf-8"

// WriteMetrics writes the Report, judged by p, in the text format that Prometheus and most
// other monitoring scrapes: [MetricsType]. The order of the series is always the same.
//
// Every name begins with "shadow_", also where a service has no other such metric today:
// what a library calls "path_duration_seconds" or "gate_ok" is what another one would
// call so, and a scraper cannot tell the two apart.
//
// Durations are histograms, not summaries: these count from the start, so that only the
// difference of two scrapes tells of now, and only histograms add up over a fleet. A bound
// is exact to the two digits that a [Latency] has.
//
// The labels are names of domains, operations, processes and builds, templates of paths, and
// words of this package. No key, no value, no operation's id and no sample becomes one. At
// most 200 series of differences have their path, those that were seen first, so that
// no series ends; the rest has path="other".
func (r *Report) WriteMetrics(w io.Writer, p Policy) error {
	m := metrics{report: r}
	m.verdict(r.Judge(p))
	m.calls()
	m.divergences()
	m.chain()
	m.paths()
	m.health()
	m.verify()
	m.processes()
	if _, err := io.WriteString(w, m.text()); err != nil {
		return fmt.Errorf("report: writing metrics: %w", err)
	}
	return nil
}

// metrics is a Report as metrics, in the making.
type metrics struct {
	exposition
	report *Report
}

func (m *metrics) verdict(v Verdict) {
	m.gauge("shadow_verdict", "1 for what all gates come to, 0 for the others.", "state").
		one(string(v.State), string(Ready), string(NotReady), string(NotEnoughData))
	ok := m.gauge("shadow_gate_ok", "1 if this gate is open, 0 if something stands against it or too little is known.",
		"gate", "domain", "op")
	for _, g := range v.Gates {
		ok.least(indicator(g.State == Ready), g.Name, g.Domain, g.Operation)
	}
	m.gauge("shadow_started_timestamp_seconds", "When the counting began.").at(m.report.Started)
	m.gauge("shadow_taken_timestamp_seconds", "When this was counted.").at(m.report.Taken)
}

// operations are in the order of their names, wherever the Report is from.
func (m *metrics) operations() []Operation {
	return slices.SortedStableFunc(slices.Values(m.report.Operations), compareOperations)
}

func (m *metrics) calls() {
	eligible := m.counter("shadow_calls_eligible_total", "Calls sampled in, by who was to compare them.", "domain", "op", "comparator")
	compared := m.counter("shadow_calls_compared_total", "Calls compared.", "domain", "op", "comparator")
	not := m.counter("shadow_not_compared_total", "Calls not compared, by why.", "domain", "op", "comparator", "reason")
	inFlight := m.gauge("shadow_calls_in_flight", "Calls on their way to their comparison.", "domain", "op", "comparator")
	outcomes := m.counter("shadow_outcomes_total", "What the comparisons of calls came to.", "domain", "op", "comparator", "class")
	keys := m.gauge("shadow_compared_keys", "Distinct keys of the calls compared, within a few percent.", "domain", "op")
	for _, op := range m.operations() {
		for _, comparator := range sortedKeys(op.Tallies) {
			t, c := op.Tallies[comparator], string(comparator)
			eligible.add(t.Eligible, op.Domain, op.Name, c)
			compared.add(t.Compared, op.Domain, op.Name, c)
			inFlight.add(t.InFlight, op.Domain, op.Name, c)
			for _, reason := range sortedKeys(t.NotCompared) {
				not.add(t.NotCompared[reason], op.Domain, op.Name, c, string(reason))
			}
			for _, class := range blockingClasses() {
				outcomes.add(0, op.Domain, op.Name, c, string(class))
			}
			for _, class := range sortedKeys(t.Classes) {
				outcomes.add(t.Classes[class], op.Domain, op.Name, c, string(class))
			}
		}
		keys.add(op.Keys.Count(), op.Domain, op.Name)
	}
}

func blockingClasses() []Class {
	return slices.DeleteFunc(Classes(), func(c Class) bool { return !c.Blocks() })
}

// mostPaths is how many series have the path of a difference: what can be anywhere in a
// document can be at very many places.
const mostPaths = 200

// divergences counts what differed, by where. The oldest keep their path, not the most
// frequent: a place that is overtaken must not become part of "other", or the one counter
// would vanish and the other one jump.
func (m *metrics) divergences() {
	type place struct {
		op Operation
		f  Finding
	}
	var all []place
	for _, op := range m.operations() {
		for _, f := range op.Findings {
			all = append(all, place{op, f})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Or(a.f.First.Compare(b.f.First), compareOperations(a.op, b.op), compareFindings(a.f, b.f))
	})
	paths := 0
	for i := range all {
		if all[i].f.Path == "" { // has no place, and so is one for each class
			continue
		}
		if paths++; paths > mostPaths {
			all[i].f.Path = "other"
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Or(compareOperations(a.op, b.op), compareFindings(a.f, b.f))
	})
	out := m.counter("shadow_divergences_total", "What differed, by where in the document; one call can differ at several places.",
		"domain", "op", "comparator", "class", "path")
	for _, d := range all {
		out.add(d.f.Count, d.op.Domain, d.op.Name, string(d.f.Comparator), string(d.f.Class), d.f.Path)
	}
}

// chain is what the free run has audited.
func (m *metrics) chain() {
	audited := m.counter("shadow_chain_audited_commits_total", "Commits of the free run whose place in the chain is known.", "domain", "op")
	contended := m.counter("shadow_chain_contended_commits_total", "Of those, commits that had to wait or to try again.", "domain", "op")
	forks := m.counter("shadow_chain_forks_total", "Acknowledged commits that are not in the chain, or twice.", "domain", "op")
	for _, op := range m.operations() {
		audited.add(op.Audited, op.Domain, op.Name)
		contended.add(op.Contended, op.Domain, op.Name)
		classes := op.Tallies[Free].Classes
		forks.add(classes[LostUpdate], op.Domain, op.Name)
		forks.add(classes[DoubleApply], op.Domain, op.Name)
	}
}

// paths is how both of them did.
func (m *metrics) paths() {
	took := m.histogram("shadow_path_duration_seconds",
		"How long a path took for a call: legacy as its caller saw it, candidate in the shadow, without the queue.", "domain", "op", "path")
	for _, op := range m.operations() {
		took.observe(op.Legacy, op.Domain, op.Name, "legacy")
		took.observe(op.Candidate, op.Domain, op.Name, "candidate")
	}
	calls := m.counter("shadow_path_calls_total", "Calls of a path.", "path")
	errs := m.counter("shadow_path_errors_total", "Calls that a path could not answer, by why; a refusal is an answer.", "path", "reason")
	h := m.report.Health
	for _, path := range []struct {
		name string
		PathHealth
	}{{"legacy", h.Legacy}, {"candidate", h.Candidate}} {
		calls.add(path.Calls, path.name)
		for _, reason := range sortedKeys(path.Errors) {
			errs.add(path.Errors[reason], path.name, reason)
		}
	}
	m.histogram("shadow_lock_wait_seconds", "How long the candidate waited for other writers, in the free run.").observe(h.LockWait)
}

// health is how the shadow itself did.
func (m *metrics) health() {
	h := m.report.Health
	m.gauge("shadow_queue_depth", "Calls that wait to be compared.").add(h.Queue)
	m.gauge("shadow_queue_depth_most", "Calls that waited at once, at most.").add(h.QueueMost)
	m.gauge("shadow_queue_bytes", "What the calls that wait hold.").add(h.QueueBytes)
	m.histogram("shadow_queue_wait_seconds", "From the end of a call until a worker took it.").observe(h.QueueWait)
	m.histogram("shadow_lag_seconds", "From the end of a call to that of its comparison.").observe(h.Lag)
	m.gauge("shadow_breaker_state", "1 for the state of the candidate's circuit breaker, 0 for the others.", "state").
		one(cmp.Or(h.Breaker, "closed"), "closed", "half-open", "open")
	m.counter("shadow_breaker_trips_total", "How often the circuit breaker opened.").add(h.BreakerTrips)
	m.counter("shadow_panics_total", "Panics of the candidate, or of a comparison.").add(h.Panics)
	resyncs := m.counter("shadow_resync_total", "Keys copied anew, by why.", "cause")
	for _, cause := range sortedKeys(h.Resyncs) {
		resyncs.add(h.Resyncs[cause], cause)
	}
	dirty := m.gauge("shadow_dirty_keys", "Keys in the report's list of those that diverge most, 20 of each process at most.", "domain")
	for _, k := range m.report.Keys {
		dirty.add(1, k.Domain)
	}
}

// verify is what the verifier found. What it says of keys is of the last round, so it can
// fall.
func (m *metrics) verify() {
	v := m.report.Verify
	m.gauge("shadow_verify_round", "How many rounds the verifier has ended.").add(int64(v.Rounds))
	m.gauge("shadow_verify_settled_rounds", "Rounds in a row in which all keys were equal.").add(int64(v.Settled))
	m.gauge("shadow_verify_last_timestamp_seconds", "When the last round ended.").at(v.Last)
	m.gauge("shadow_verify_touched_keys", "Keys in the verifier's registry, at its last round.").add(v.Touched)
	m.gauge("shadow_verify_evicted_keys", "Keys that the registry had no room for: they are never verified.").add(v.Evicted)
	keys := m.gauge("shadow_verify_keys", "Keys of the verifier's last round, by what came out; untimed is equal, but without the expiry.",
		"result")
	if v.Rounds > 0 {
		keys.add(v.Equal-v.Untimed, "equal")
		keys.add(v.Untimed, "untimed")
		keys.add(v.Pending, "pending")
		keys.add(v.Unknown, "unknown")
		keys.add(v.Checked-v.Equal-v.Pending-v.Unknown, "different")
	}
	findings := m.counter("shadow_verify_findings_total", "Differences that the verifier has confirmed.", "class")
	for _, class := range blockingClasses() {
		findings.add(0, string(class))
	}
	for _, class := range sortedKeys(v.Findings) {
		findings.add(v.Findings[class], string(class))
	}
}

// processes are those of the fleet, or this one.
func (m *metrics) processes() {
	info := m.gauge("shadow_process_info", "1 for each process: the mode somebody asked for, and what is in effect.",
		"process", "build", "asked", "effective")
	ramp := m.gauge("shadow_ramp_ratio", "Share of the keys that are in the shadow, 0 to 1.", "process")
	seen := m.gauge("shadow_process_seen_timestamp_seconds", "When a process was last heard of.", "process")
	for _, p := range slices.SortedStableFunc(slices.Values(m.report.Processes), func(a, b Process) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		info.least(1, p.Name, p.Build, p.Asked, p.Mode)
		ramp.least(p.Percent/100, p.Name)
		seen.at(p.Seen, p.Name)
	}
}
