package observe

import (
	"context"
	"fmt"
	"strings"
)

// Attribute is the name of an attribute of a metric. The names are the same in both exporters, but for the
// dot of error.type.
type Attribute string

// The attributes.
const (
	Path      Attribute = "path"
	Backend   Attribute = "backend"
	OpName    Attribute = "operation"
	ErrorType Attribute = "error.type" // of the semantic conventions
	Outcome   Attribute = "outcome"
	LossName  Attribute = "reason"
)

// Label returns the name in Prometheus.
func (a Attribute) Label() string { return underscored(string(a)) }

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

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
	Kind       Kind
	Unit       string // UCUM
	Help       string
	Attributes []Attribute // in the order of the values of [Open]
	Buckets    []float64   // of a Histogram
}

// Prometheus returns the name in Prometheus. It is the one that exporters of OpenTelemetry, and the OTLP
// receiver of Prometheus, make of Name, Unit and Kind. So dashboards and alerts fit both.
func (m *Metric) Prometheus() string {
	name := underscored(m.Name)
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.Kind == Counter || m.Kind == Total {
		name += "_total"
	}
	return name
}

// The buckets of durations. Those of calls are those of db.client.operation.duration in the semantic
// conventions of OpenTelemetry.
var (
	calls = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10}
	waits = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60}
	few   = []float64{1, 2, 3, 5, 10, 100}
	sizes = []float64{2, 4, 8, 16, 32, 64, 128, 256}
	keys  = []float64{1, 2, 3, 4, 8, 16, 32, 64}
)

// The metrics.
var (
	UpdateDuration = &Metric{"unwatch.update.duration", Histogram, "s",
		"duration of an Update, fn and waits included", []Attribute{Path, OpName, ErrorType}, calls}
	ReadDuration = &Metric{"unwatch.read.duration", Histogram, "s",
		"duration of a Read", []Attribute{Path, OpName, ErrorType}, calls}
	UpdateWait = &Metric{"unwatch.update.wait", Histogram, "s",
		"time for which an Update waited for other writers", []Attribute{Path, OpName}, waits}
	UpdateAttempts = &Metric{"unwatch.update.attempts", Histogram, "{attempt}",
		"calls of fn in an Update that called fn", []Attribute{Path, OpName}, few}
	UpdatesUnknown = &Metric{"unwatch.updates.unknown", Counter, "{update}",
		"updates that ended in rmw.ErrOutcomeUnknown: alert on any", []Attribute{Path}, nil}
	TransactDuration = &Metric{"unwatch.transact.duration", Histogram, "s",
		"duration of a Transact", []Attribute{Path, OpName, ErrorType}, calls}
	TransactWait = &Metric{"unwatch.transact.wait", Histogram, "s",
		"waits of a Transact for other writers", []Attribute{Path, OpName}, waits}
	TransactAttempts = &Metric{"unwatch.transact.attempts", Histogram, "{attempt}",
		"calls of fn in a Transact", []Attribute{Path, OpName}, few}
	TransactKeys = &Metric{"unwatch.transact.keys", Histogram, "{key}",
		"keys of a Transact", []Attribute{Path, OpName}, keys}

	LockWait = &Metric{"unwatch.lock.wait", Histogram, "s",
		"time from the call for a lock to its grant or refusal", []Attribute{Backend, OpName, ErrorType}, waits}
	LockHold = &Metric{"unwatch.lock.hold", Histogram, "s",
		"time for which a lock was held, until it was released or lost", []Attribute{Backend, OpName}, waits}
	LocksHeld = &Metric{"unwatch.locks.held", Level, "{lock}",
		"locks that this process holds now", []Attribute{Backend}, nil}
	LockWaiters = &Metric{"unwatch.lock.waiters", Level, "{call}",
		"calls that now wait for a lock, for longer than 10 ms", []Attribute{Backend}, nil}
	LocksLost = &Metric{"unwatch.locks.lost", Counter, "{lock}",
		"locks that were lost before their release", []Attribute{Backend, LossName}, nil}
	LockJeopardy = &Metric{"unwatch.lock.jeopardy", Histogram, "s",
		"time from a failed renewal to the next successful one", []Attribute{Backend}, waits}

	CommitUpdates = &Metric{"unwatch.commit.updates", Histogram, "{update}",
		"updates in a commit of more than one", []Attribute{Path}, sizes}

	LockRenewals = &Metric{"unwatch.lock.renewals", Total, "{renewal}",
		"leases prolonged (renewed), and renewals to be tried again (failed)", []Attribute{Path, Outcome}, nil}
	LockPolls = &Metric{"unwatch.lock.polls", Total, "{poll}",
		"attempts that found a lock taken by another process", []Attribute{Path}, nil}
	CommitConflicts = &Metric{"unwatch.commit.conflicts", Total, "{commit}",
		"commits that the guard refused", []Attribute{Path}, nil}
	UpdatesCombined = &Metric{"unwatch.updates.combined", Total, "{update}",
		"updates that were written by the commit of another one", []Attribute{Path}, nil}
	CircuitOpen = &Metric{"unwatch.store.circuit_open", State, "{store}",
		"1 while the circuit breaker is open: the store does not answer", []Attribute{Path}, nil}
)

// Metrics returns all metrics.
func Metrics() []*Metric {
	return []*Metric{
		UpdateDuration, ReadDuration, UpdateWait, UpdateAttempts, UpdatesUnknown,
		TransactDuration, TransactWait, TransactAttempts, TransactKeys,
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
			labels[i] = a.Label()
		}
		fmt.Fprintf(&b, "| `%s`, `%s` | %s | %s | %s | %s |\n",
			m.Prometheus(), m.Name, m.Kind, m.Unit, strings.Join(labels, ", "), m.Help)
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
