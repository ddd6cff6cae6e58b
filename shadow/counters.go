package shadow

import (
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// counters hold everything that the report counts. One lock guards all of it, so that a
// report is a snapshot and adds up.
type counters struct {
	cfg        Config
	redactor   *diff.Redactor
	operations atomic.Pointer[map[opName]*operation] // replaced, never changed
	compare    map[string]*comparison                // by domain; "" is that of all others
	panicked   sync.Once

	mu       sync.Mutex
	started  time.Time
	health   report.Health // Legacy counts the serving path, Candidate the hidden one
	minute   report.Minute // the latest
	peak     report.Peak   // of the minutes that are over
	switched time.Time     // when the share of the keys last changed
	marks    []report.Mark
	dirty    map[string]*report.DirtyKey // by the redacted name
	sampled  int                         // findings with samples
}

const (
	maxOperations = 256
	maxMarks      = 50
	maxDirty      = 1000
	maxSamples    = 5   // of each finding
	maxKinds      = 100 // of the findings of an operation, and of those with samples
)

// overflow is the name of the operations of a domain beyond maxOperations.
const overflow = "(other)"

type opName struct{ domain, name string }

// operation counts the calls of one operation. The counters' lock guards all but id, pure
// and compare, which never change.
type operation struct {
	id      opName
	pure    bool
	compare *comparison

	report.Operation                 // without Tallies and Findings
	tallies          [2]report.Tally // by index
	findings         map[findingKind]*found
}

type findingKind struct {
	comparator report.Comparator
	class      report.Class
	path       string
}

// found is a finding with its first samples.
type found struct {
	report.Finding
	samples []report.Sample
}

// index returns a comparator's place in the tallies.
func index(c report.Comparator) int { return slices.Index(comparators, c) }

var comparators = report.Comparators()

func newCounters(cfg Config) *counters {
	c := &counters{
		cfg: cfg, compare: map[string]*comparison{"": newComparison(cfg, "")},
		started: time.Now(), redactor: diff.NewRedactor(cfg.RedactSecret),
		dirty: map[string]*report.DirtyKey{},
		health: report.Health{
			Legacy: report.PathHealth{Errors: map[string]int64{}}, Candidate: report.PathHealth{Errors: map[string]int64{}},
			Breaker: "closed",
		},
	}
	for domain := range cfg.Domains {
		c.compare[domain] = newComparison(cfg, domain)
	}
	c.operations.Store(&map[opName]*operation{})
	return c
}

// comparison returns the comparison of the values of a domain.
func (c *counters) comparison(domain string) *comparison {
	if of := c.compare[domain]; of != nil {
		return of
	}
	return c.compare[""]
}

// operation finds or creates the counters of an operation. Only its first call takes the
// lock.
func (c *counters) operation(domain, name string) *operation {
	id := opName{domain, name}
	if op := (*c.operations.Load())[id]; op != nil {
		return op
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	present := *c.operations.Load()
	if len(present) >= maxOperations { // names that contain ids must not fill the memory
		if _, ok := c.cfg.Domains[domain]; !ok {
			domain = ""
		}
		id = opName{domain, overflow}
	}
	if op := present[id]; op != nil {
		return op
	}
	op := &operation{
		id: id, compare: c.comparison(domain), pure: slices.Contains(c.cfg.Pure, id.domain+"/"+id.name),
	}
	op.restart()
	grown := maps.Clone(present)
	grown[id] = op
	c.operations.Store(&grown)
	return op
}

// restart sets all counts to zero. Calls in flight stay counted.
func (op *operation) restart() {
	op.Operation = report.Operation{Domain: op.id.domain, Name: op.id.name, Since: time.Now(), Outcomes: map[string]int64{}}
	op.findings = map[findingKind]*found{}
	for i := range op.tallies {
		inFlight := op.tallies[i].InFlight
		op.tallies[i] = report.Tally{
			Eligible: inFlight, InFlight: inFlight, NotCompared: map[report.Reason]int64{}, Classes: map[report.Class]int64{},
		}
	}
}

// Reset restarts the counts of an operation, for example after a change of its code. domain is a Key.Label;
// operation is a name of [rmw.WithOperation], or "update", "transact" or "read" for a call without one.
func (s *Store) Reset(domain, operation string) {
	c := s.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	op := (*c.operations.Load())[opName{domain, operation}]
	if op == nil {
		return
	}
	for _, f := range op.findings {
		if len(f.samples) > 0 {
			c.sampled--
		}
	}
	op.restart()
	c.markLocked("counted anew: "+domain+"/"+operation, "")
}

func (c *counters) markLocked(what, why string) {
	c.marks = append(c.marks, report.Mark{At: time.Now(), What: what, Why: why})
	c.marks = c.marks[max(0, len(c.marks)-maxMarks):]
}

// minuteLocked returns the counts of the minute of now.
func (c *counters) minuteLocked(now time.Time) *report.Minute {
	if now = now.Truncate(time.Minute); c.minute.At.Before(now) {
		c.addPeakLocked(&c.peak)
		c.minute = report.Minute{At: now}
	}
	return &c.minute
}

// addPeakLocked adds the latest minute to a peak, if it was one of the present share of keys.
func (c *counters) addPeakLocked(peak *report.Peak) {
	if !c.minute.At.Before(c.switched) {
		peak.Add(c.minute)
	}
}

// keyName returns the name that a report shows for a key.
func (c *counters) keyName(key rmw.Key) (name string) {
	defer c.onPanic(func() { name = c.redactor.Text(key.Name) })
	if c.cfg.RedactKey != nil {
		return c.cfg.RedactKey(key)
	}
	return c.redactor.Text(key.Name)
}

// locked runs f under the lock, for which callers of the serving path wait, too.
func (c *counters) locked(f func(h *report.Health)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.health)
}

// logPanic logs the stack of the first panic. The panic's own text may be private.
func (c *counters) logPanic(p any) {
	c.panicked.Do(func() {
		slog.Error("shadow: a panic was caught; later ones are counted only", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	})
}

// onPanic counts a panic of a comparison and calls instead. It must be deferred itself.
func (c *counters) onPanic(instead func()) {
	if p := recover(); p != nil {
		c.logPanic(p)
		c.locked(func(h *report.Health) { h.Panics++ })
		instead()
	}
}

// recoverAs logs a panic like onPanic and turns it into errPanicked, which the caller counts. It must be deferred itself.
func (c *counters) recoverAs(err *error) {
	if p := recover(); p != nil {
		c.logPanic(p)
		*err = errPanicked
	}
}
