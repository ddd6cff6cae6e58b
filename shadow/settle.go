package shadow

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// finding is what a comparison came to.
type finding struct {
	class       report.Class
	differences []diff.Difference
	more        int
	explain     string

	legacy, candidate             string // what each path answered, in a word
	legacyExpiry, candidateExpiry string
}

// paths are the templates of where it differs, each once.
func (f *finding) paths() []string {
	var paths []string
	seen := map[string]bool{}
	for _, d := range f.differences {
		if !seen[d.Template] {
			seen[d.Template] = true
			paths = append(paths, d.Template)
		}
	}
	if len(paths) == 0 {
		paths = []string{""}
	}
	return paths
}

// settle counts a call as compared.
func (b *book) settle(it *item, comparator report.Comparator, f finding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	op, t := it.op, &it.op.tallies[index(comparator)]
	t.inFlight--
	t.compared++
	t.classes[f.class]++
	b.minute().Compared++
	b.health.lag.Record(time.Since(it.ended))
	if comparator == report.Seeded {
		op.outcomes[bounded(op.outcomes, it.outcome())]++
		op.keys.Add(it.hash)
		op.legacy.Record(it.took)
	}
	if f.class.Blocks() {
		b.minute().Diverged++
	}
	b.found(it.call, comparator, f)
}

// bounded keeps a map of names that users choose from growing without end.
func bounded(m map[string]int64, name string) string {
	if _, ok := m[name]; !ok && len(m) >= maxKinds {
		return "other"
	}
	return name
}

// found notes what differed; b.mu is held.
func (b *book) found(c *call, comparator report.Comparator, f finding) {
	switch f.class {
	case report.Match, report.MatchNoop, report.OrderOnly:
		return
	}
	now := time.Now()
	for _, path := range f.paths() {
		kind := findingKind{comparator, f.class, path}
		seen := c.op.findings[kind]
		if seen == nil {
			if len(c.op.findings) >= maxKinds {
				kind.path = "other"
				seen = c.op.findings[kind]
			}
			if seen == nil {
				seen = &report.Finding{Comparator: comparator, Class: f.class, Path: kind.path, First: now}
				c.op.findings[kind] = seen
			}
		}
		seen.Count++
		seen.Last = now
		b.sample(c, kind, f, now)
	}
	if f.class.Blocks() {
		b.soil(c.key, f.class, f.paths()[0], opID(b.cfg, c), now)
	}
}

// soil notes that a key diverges; b.mu is held.
func (b *book) soil(key rmw.Key, class report.Class, path, opID string, now time.Time) {
	name := b.name(key)
	d := b.dirty[name]
	if d == nil {
		if len(b.dirty) >= maxDirty {
			return
		}
		d = &report.DirtyKey{Key: name, Domain: key.Label, Class: class, Path: path, First: now, OpID: opID}
		b.dirty[name] = d
	}
	d.Count++
}

// sample keeps a call that differs, redacted; b.mu is held.
func (b *book) sample(c *call, kind findingKind, f finding, now time.Time) {
	of := sampleKind{c.op.opName, kind}
	if len(b.samples[of]) >= maxSamples || len(b.samples) >= maxKinds && b.samples[of] == nil {
		return
	}
	s := report.Sample{
		Comparator: kind.comparator, Class: f.class, Domain: c.op.domain, Operation: c.op.name, OpID: opID(b.cfg, c),
		Key: b.name(c.key), At: now, Process: b.cfg.Process, More: f.more, Explain: f.explain,
		Legacy: f.legacy, Candidate: f.candidate, LegacyExpiry: f.legacyExpiry, CandidateExpiry: f.candidateExpiry,
	}
	for _, d := range f.differences {
		s.Differences = append(s.Differences, report.Difference{
			Path: b.redactor.Path(d), Legacy: b.redactor.Token(d.A), Candidate: b.redactor.Token(d.B),
		})
	}
	b.samples[of] = append(b.samples[of], s)
}

// opID names a call in reports.
func opID(cfg Config, c *call) string { return fmt.Sprintf("%s#%d", cfg.Process, c.id) }

// pass counts a call as not compared.
func (b *book) pass(it *item, comparator report.Comparator, why report.Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &it.op.tallies[index(comparator)]
	t.inFlight--
	t.not[why]++
	b.minute().NotCompared++
}
