package shadow

import (
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// finding is what a comparison came to.
type finding struct {
	class       report.Class
	differences []diff.Difference
	more        int
	explain     string
	key         string              // as it is shown
	redacted    []report.Difference // likewise, if a sample of it is wanted

	legacy, candidate             string // what each path answered, in a word
	legacyExpiry, candidateExpiry string
}

// matches reports whether there is nothing to tell.
func (f *finding) matches() bool {
	switch f.class {
	case report.Match, report.MatchNoop, report.OrderOnly:
		return true
	default:
		return false
	}
}

// show names the key of what is to be told, and makes tokens of the values. It calls a
// function of the user's, and digests what may be megabytes, so no caller must wait for it
// behind a lock.
func (f *finding) show(b *book, c *call, comparator report.Comparator) {
	if f.matches() {
		return
	}
	f.key = b.name(c.key)
	if !b.wants(c, comparator, f) {
		return
	}
	for _, d := range f.differences {
		f.redacted = append(f.redacted, report.Difference{
			Path: b.redactor.Path(d), Legacy: b.redactor.Token(d.A), Candidate: b.redactor.Token(d.B),
		})
	}
}

// wants reports whether there is room for a sample.
func (b *book) wants(c *call, comparator report.Comparator, f *finding) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(f.paths(), func(path string) bool {
		return !b.full(sampleKind{c.op.opName, findingKind{comparator, f.class, path}})
	})
}

// full reports whether there are enough samples of a kind; b.mu is held.
func (b *book) full(of sampleKind) bool {
	return len(b.samples[of]) >= maxSamples || len(b.samples) >= maxKinds && b.samples[of] == nil
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
	f.show(b, it.call, comparator)
	b.mu.Lock()
	defer b.mu.Unlock()
	op, t := it.op, &it.op.tallies[index(comparator)]
	t.inFlight--
	t.compared++
	t.classes[f.class]++
	now := time.Now()
	b.minute(now).Compared++
	b.health.lag.Record(now.Sub(it.ended))
	if comparator == report.Seeded {
		op.outcomes[bounded(op.outcomes, it.outcome())]++
		op.keys.Add(it.hash)
		if it.clocked {
			op.legacy.Record(it.took)
		}
	}
	if f.class.Blocks() {
		b.minute(now).Diverged++
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
	if f.matches() {
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
		b.soil(c, f, now)
	}
}

// soil notes that a key diverges; b.mu is held.
func (b *book) soil(c *call, f finding, now time.Time) {
	d := b.dirty[f.key]
	if d == nil {
		if len(b.dirty) >= maxDirty {
			return
		}
		d = &report.DirtyKey{
			Key: f.key, Domain: c.op.domain, Class: f.class, Path: f.paths()[0], First: now, OpID: opID(b.cfg, c),
		}
		b.dirty[f.key] = d
	}
	d.Count++
}

// sample keeps a call that differs, redacted; b.mu is held.
func (b *book) sample(c *call, kind findingKind, f finding, now time.Time) {
	of := sampleKind{c.op.opName, kind}
	if b.full(of) || len(f.redacted) < len(f.differences) {
		return
	}
	s := report.Sample{
		Comparator: kind.comparator, Class: f.class, Domain: c.op.domain, Operation: c.op.name, OpID: opID(b.cfg, c),
		Key: f.key, At: now, Process: b.cfg.Process, More: f.more, Explain: f.explain,
		Legacy: f.legacy, Candidate: f.candidate, LegacyExpiry: f.legacyExpiry, CandidateExpiry: f.candidateExpiry,
		Differences: slices.Clone(f.redacted),
	}
	b.samples[of] = append(b.samples[of], s)
}

// opID names a call in reports; "" if it is about a key.
func opID(cfg Config, c *call) string {
	if c.id == 0 {
		return ""
	}
	return fmt.Sprintf("%s#%d", cfg.Process, c.id)
}

// pass counts a call as not compared.
func (b *book) pass(it *item, comparator report.Comparator, why report.Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &it.op.tallies[index(comparator)]
	t.inFlight--
	t.not[why]++
	m := b.minute(time.Now())
	m.NotCompared++
	if why.Drops() {
		m.Dropped++
	}
}
