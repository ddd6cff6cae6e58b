package shadow

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// book keeps what is counted. One lock guards all of it, so that a report is of one
// moment, and the accounts add up in it.
type book struct {
	cfg        Config
	redactor   *diff.Redactor
	operations atomic.Pointer[map[opName]*operation] // replaced, never changed

	mu       sync.Mutex
	started  time.Time
	health   health
	minutes  []report.Minute // oldest first
	peak     report.Peak     // of those that are over
	switched time.Time       // when the share of the keys was changed last
	marks    []report.Mark
	dirty    map[string]*report.DirtyKey // by the redacted name
	samples  map[sampleKind][]report.Sample
	verified report.Verify
}

const (
	maxOperations = 256
	maxMinutes    = 180
	maxMarks      = 50
	maxDirty      = 1000
	maxSamples    = 5   // of each kind
	maxKinds      = 100 // of samples, and of findings of an operation
)

// overflow is what the operations of a domain are called that are too many. No code calls
// one like that.
const overflow = "(other)"

type opName struct{ domain, name string }

// operation is what is counted of one. Guarded by the book's lock, but for what never
// changes.
type operation struct {
	opName
	pure      bool
	compare   *comparison
	since     time.Time
	tallies   [3]tally // by index
	outcomes  map[string]int64
	findings  map[findingKind]*report.Finding
	keys      report.KeySketch
	legacy    report.Latency
	candidate report.Latency
	audited   int64
	contended int64
}

// tally is a report.Tally; what callers count has a field of its own, as that is quicker.
type tally struct {
	eligible, compared, inFlight int64
	droppedQueue, droppedBytes   int64
	not                          map[report.Reason]int64
	classes                      map[report.Class]int64
}

type findingKind struct {
	comparator report.Comparator
	class      report.Class
	path       string
}

type sampleKind struct {
	opName
	findingKind
}

// health is what a report.Health is made of.
type health struct {
	calls, hiddenCalls   int64
	errors, hiddenErrors map[string]int64
	breaker              string
	trips, panics        int64
	inFlight, most       int64 // calls
	bytes                int64
	resyncs              map[string]int64
	lag, queueWait, lock report.Latency
}

// index is a comparator's place in the tallies.
func index(c report.Comparator) int {
	switch c {
	case report.Seeded:
		return 0
	case report.Lockstep:
		return 1
	default:
		return 2
	}
}

func newBook(cfg Config) *book {
	b := &book{
		cfg: cfg, started: time.Now(), redactor: diff.NewRedactor(cfg.RedactSecret),
		dirty: map[string]*report.DirtyKey{}, samples: map[sampleKind][]report.Sample{},
		health: health{errors: map[string]int64{}, hiddenErrors: map[string]int64{}, resyncs: map[string]int64{}, breaker: "closed"},
	}
	b.operations.Store(&map[opName]*operation{})
	return b
}

// operation finds what is counted of an operation. It is quick for all but the first
// call of each.
func (b *book) operation(domain, name string) *operation {
	if op := (*b.operations.Load())[opName{domain, name}]; op != nil {
		return op
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	present := *b.operations.Load()
	id := opName{domain, name}
	if len(present) >= maxOperations { // a name that is made of ids must not fill the memory
		if _, ok := b.cfg.Domains[domain]; !ok {
			domain = "" // whose rules are for all others
		}
		id = opName{domain, overflow}
	}
	if op := present[id]; op != nil {
		return op
	}
	op := &operation{
		opName: id, since: time.Now(), compare: newComparison(b.cfg, domain), pure: b.isPure(id),
		outcomes: map[string]int64{}, findings: map[findingKind]*report.Finding{},
	}
	for i := range op.tallies {
		op.tallies[i].not, op.tallies[i].classes = map[report.Reason]int64{}, map[report.Class]int64{}
	}
	grown := maps.Clone(present)
	grown[id] = op
	b.operations.Store(&grown)
	return op
}

func (b *book) isPure(id opName) bool {
	return slices.Contains(b.cfg.Pure, id.domain+"/"+id.name)
}

// reset forgets what was counted of an operation, as its code has changed.
func (b *book) reset(domain, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	op := (*b.operations.Load())[opName{domain, name}]
	if op == nil {
		return // a new one would have gates that no call ever opens
	}
	for i := range op.tallies {
		t := &op.tallies[i]
		*t = tally{eligible: t.inFlight, inFlight: t.inFlight, not: map[report.Reason]int64{}, classes: map[report.Class]int64{}}
	}
	op.outcomes, op.findings = map[string]int64{}, map[findingKind]*report.Finding{}
	op.keys, op.legacy, op.candidate = nil, report.Latency{}, report.Latency{}
	op.audited, op.contended, op.since = 0, 0, time.Now()
	maps.DeleteFunc(b.samples, func(kind sampleKind, _ []report.Sample) bool { return kind.opName == op.opName })
	b.marked("counted anew: "+domain+"/"+name, "")
}

func (b *book) mark(what, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marked(what, why)
}

// marked is mark; b.mu is held.
func (b *book) marked(what, why string) {
	b.marks = append(b.marks, report.Mark{At: time.Now(), What: what, Why: why})
	if len(b.marks) > maxMarks {
		b.marks = b.marks[1:]
	}
}

// minute is the timeline's point for now. b.mu is held.
func (b *book) minute(now time.Time) *report.Minute {
	now = now.Truncate(time.Minute)
	if n := len(b.minutes); n == 0 || b.minutes[n-1].At.Before(now) {
		if n > 0 {
			b.over(b.minutes[n-1], &b.peak)
		}
		b.minutes = append(b.minutes, report.Minute{At: now})
		if len(b.minutes) > maxMinutes {
			b.minutes = b.minutes[1:]
		}
	}
	return &b.minutes[len(b.minutes)-1]
}

// newPeak forgets the busiest minute, as there will be more or less to compare.
func (b *book) newPeak() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peak, b.switched = report.Peak{}, time.Now()
}

// over adds a minute to a peak, if it was one of the present share of the keys. b.mu is held.
func (b *book) over(m report.Minute, peak *report.Peak) {
	if !m.At.Before(b.switched) {
		peak.Add(m)
	}
}

// name is what a report shows for a key.
func (b *book) name(key rmw.Key) (name string) {
	defer func() {
		if p := recover(); p != nil {
			b.panicked()
			name = b.redactor.Text(key.Name)
		}
	}()
	if b.cfg.RedactKey != nil {
		return b.cfg.RedactKey(key)
	}
	return b.redactor.Text(key.Name)
}
