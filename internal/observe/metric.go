package observe

import (
	"context"
	"fmt"
	"strings"
)

// Attribute is the name of an attribute of a metric.
type Attribute struct {
	Name  string // in OpenTelemetry
	Label string // in Prometheus
}

// The attributes.
var (
	Path      = Attribute{"unwatch.path", "path"}
	Backend   = Attribute{"unwatch.lock.backend", "backend"}
	OpName    = Attribute{"unwatch.operation", "operation"}
	ErrorType = Attribute{"error.type", "error_type"}
	Outcome   = Attribute{"unwatch.outcome", "outcome"}
	LossName  = Attribute{"unwatch.lock.loss", "reason"}
)

// Kind is the kind of a [Metric].
type Kind string

// The kinds. A Total is read from Stats of a Store, as a State is; the others are recorded.
const (
	Histogram Kind = "histogram"
	Counter   Kind = "counter"
	Level     Kind = "gauge" // goes up and down
	Total     Kind = "counter, of Stats"
	State     Kind = "gauge, of Stats"
)

// Metric describes a metric.
type Metric struct {
	Name       string // in OpenTelemetry
	Prometheus string
	Kind       Kind
	Unit       string // UCUM
	Help       string
	Attributes []Attribute // in the order of the values of [Open]
	Buckets    []float64   // of a Histogram
}

// The buckets of durations. Those of calls are those of db.client.operation.duration in the semantic
// conventions of OpenTelemetry.
var (
	calls = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10}
	waits = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60}
	few   = []float64{1, 2, 3, 5, 10, 100}
	sizes = []float64{2, 4, 8, 16, 32, 64, 128, 256}
)

// The metrics.
var (
	UpdateDuration = &Metric{"unwatch.update.duration", "unwatch_update_duration_seconds", Histogram, "s",
		"duration of an Update, fn and waits included", []Attribute{Path, OpName, ErrorType}, calls}
	ReadDuration = &Metric{"unwatch.read.duration", "unwatch_read_duration_seconds", Histogram, "s",
		"duration of a Read", []Attribute{Path, OpName, ErrorType}, calls}
	UpdateWait = &Metric{"unwatch.update.wait.duration", "unwatch_update_wait_seconds", Histogram, "s",
		"time for which an Update waited for other writers", []Attribute{Path, OpName}, waits}
	UpdateAttempts = &Metric{"unwatch.update.attempts", "unwatch_update_attempts", Histogram, "{attempt}",
		"calls of fn in an Update that called fn", []Attribute{Path, OpName}, few}
	UpdatesUnknown = &Metric{"unwatch.update.unknown", "unwatch_updates_unknown_total", Counter, "{update}",
		"updates that ended in rmw.ErrOutcomeUnknown: alert on any", []Attribute{Path}, nil}

	LockWait = &Metric{"unwatch.lock.wait.duration", "unwatch_lock_wait_seconds", Histogram, "s",
		"time from the call for a lock to its grant or refusal", []Attribute{Backend, OpName, ErrorType}, waits}
	LockHold = &Metric{"unwatch.lock.hold.duration", "unwatch_lock_hold_seconds", Histogram, "s",
		"time for which a lock was held, until it was released or lost", []Attribute{Backend, OpName}, waits}
	LocksHeld = &Metric{"unwatch.lock.held", "unwatch_locks_held", Level, "{lock}",
		"locks that this process holds now", []Attribute{Backend}, nil}
	LockWaiters = &Metric{"unwatch.lock.waiting", "unwatch_lock_waiters", Level, "{call}",
		"calls that now wait for a lock, for longer than 10 ms", []Attribute{Backend}, nil}
	LocksLost = &Metric{"unwatch.lock.lost", "unwatch_locks_lost_total", Counter, "{lock}",
		"locks that were lost before their release", []Attribute{Backend, LossName}, nil}
	LockJeopardy = &Metric{"unwatch.lock.jeopardy.duration", "unwatch_lock_jeopardy_seconds", Histogram, "s",
		"time from a failed renewal to the next successful one", []Attribute{Backend}, waits}

	CommitUpdates = &Metric{"unwatch.commit.updates", "unwatch_commit_updates", Histogram, "{update}",
		"updates in a commit of more than one", []Attribute{Path}, sizes}

	LockRenewals = &Metric{"unwatch.lock.renewals", "unwatch_lock_renewals_total", Total, "{renewal}",
		"leases prolonged (renewed), and renewals to be tried again (failed)", []Attribute{Path, Outcome}, nil}
	LockPolls = &Metric{"unwatch.lock.polls", "unwatch_lock_polls_total", Total, "{poll}",
		"attempts that found a lock taken by another process", []Attribute{Path}, nil}
	CommitConflicts = &Metric{"unwatch.commit.conflicts", "unwatch_commit_conflicts_total", Total, "{commit}",
		"commits that the guard refused", []Attribute{Path}, nil}
	UpdatesCombined = &Metric{"unwatch.update.combined", "unwatch_updates_combined_total", Total, "{update}",
		"updates that were written by the commit of another one", []Attribute{Path}, nil}
	CircuitOpen = &Metric{"unwatch.store.circuit_open", "unwatch_store_circuit_open", State, "1",
		"1 while the circuit breaker is open: the store does not answer", []Attribute{Path}, nil}
)

// Metrics returns all metrics.
func Metrics() []*Metric {
	return []*Metric{
		UpdateDuration, ReadDuration, UpdateWait, UpdateAttempts, UpdatesUnknown,
		LockWait, LockHold, LocksHeld, LockWaiters, LocksLost, LockJeopardy, CommitUpdates,
		LockRenewals, LockPolls, CommitConflicts, UpdatesCombined, CircuitOpen,
	}
}

// Table returns the metrics as a table in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| Prometheus, OpenTelemetry | kind | unit | labels | meaning |\n|---|---|---|---|---|\n")
	for _, m := range Metrics() {
		labels := make([]string, len(m.Attributes))
		for i, a := range m.Attributes {
			labels[i] = a.Label
		}
		fmt.Fprintf(&b, "| `%s`, `%s` | %s | %s | %s | %s |\n",
			m.Prometheus, m.Name, m.Kind, m.Unit, strings.Join(labels, ", "), m.Help)
	}
	return b.String()
}

// Record adds a measurement to a series: an observation to a histogram, an increment to a counter, a
// change to a gauge. It is safe for concurrent use.
type Record func(ctx context.Context, v float64)

// Open returns the series of a metric with the values of its Attributes, in their order. It is safe
// for concurrent use, and returns the same series for the same values.
type Open func(m *Metric, values ...string) Record

// outcomes records a metric with ErrorType as its last attribute. The series of success exists from
// the start.
type outcomes struct {
	open             Open
	metric           *Metric
	scope, operation string
	ok               Record
}

func newOutcomes(open Open, m *Metric, scope, operation string) outcomes {
	return outcomes{open, m, scope, operation, open(m, scope, operation, OK)}
}

func (o *outcomes) record(ctx context.Context, reason string, v float64) {
	if reason == OK {
		o.ok(ctx, v)
		return
	}
	o.open(o.metric, o.scope, o.operation, reason)(ctx, v)
}

// openAll opens the series of all reasons for a call without a name and for the listed operations.
func openAll(open Open, m *Metric, scope string, o Options) {
	for _, operation := range append([]string{""}, o.Operations...) {
		for _, reason := range Reasons() {
			open(m, scope, Valid(operation), reason)
		}
	}
}
