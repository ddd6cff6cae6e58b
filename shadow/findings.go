package shadow

import (
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// finding is the result of a comparison, or the reason why there is none.
type finding struct {
	missed      report.Reason // the call was not compared
	class       report.Class
	differences []diff.Difference
	more        int
	explain     string
	at          rmw.Key             // the key, if the call is an update of several
	also        []finding           // of the other keys of the call, of the same class
	key         string              // as the report shows it
	redacted    []report.Difference // likewise, if a sample is wanted

	legacy, candidate             string // the answer of each path, in a word
	legacyExpiry, candidateExpiry string
}

// matches reports whether the report shows nothing of a finding but its count.
func (f *finding) matches() bool {
	switch f.class {
	case report.Match, report.MatchNoop:
		return true
	}
	return f.missed != ""
}

// paths returns the templates of the places that differ, each once.
func (f *finding) paths() (paths []string) {
	for _, d := range f.differences {
		if !slices.Contains(paths, d.Template) {
			paths = append(paths, d.Template)
		}
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// redact replaces the key and the values of a finding by names and tokens that the report
// may show. It calls Config.RedactKey and may hash megabytes, so it must not run under the counters' lock.
func (c *counters) redact(f *finding, about *call, comparator report.Comparator) {
	if f.matches() {
		return
	}
	for i := range f.also {
		c.redact(&f.also[i], about, comparator)
	}
	key := about.key
	if f.at.Name != "" {
		key = f.at
	}
	f.key = c.keyName(key)
	if !c.wantsSample(about, comparator, f) {
		return
	}
	for _, d := range f.differences {
		f.redacted = append(f.redacted, report.Difference{
			Path: c.redactor.Path(d), Legacy: c.redactor.Token(d.A), Candidate: c.redactor.Token(d.B),
		})
	}
}

func (c *counters) wantsSample(about *call, comparator report.Comparator, f *finding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(f.paths(), func(path string) bool {
		return !c.fullLocked(about.op.findings[findingKind{comparator, f.class, path}])
	})
}

// fullLocked reports whether there are enough samples of a finding, which is nil before its
// first.
func (c *counters) fullLocked(of *found) bool {
	if of == nil || len(of.samples) == 0 {
		return c.sampled >= maxKinds
	}
	return len(of.samples) >= maxSamples
}

// settle counts a call as compared, or as not compared.
func (c *counters) settle(it *item, comparator report.Comparator, f finding) {
	c.redact(&f, it.call, comparator)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	op, t, minute := it.op, &it.op.tallies[index(comparator)], c.minuteLocked(now)
	t.InFlight--
	if f.missed != "" {
		t.NotCompared[f.missed]++
		minute.NotCompared++
		if f.missed.Drops() {
			minute.Dropped++
		}
		return
	}
	t.Compared++
	t.Classes[f.class]++
	c.health.Lag.Record(now.Sub(it.ended))
	if comparator == report.Seeded {
		op.Outcomes[bounded(op.Outcomes, it.outcome())]++
		op.Keys.Add(it.hash)
		if it.clocked {
			op.Legacy.Record(it.took)
		}
	}
	minute.Compared++
	c.foundLocked(it.call, comparator, f)
	for _, other := range f.also {
		c.foundLocked(it.call, comparator, other)
	}
}

// bounded limits a map of names that users choose.
func bounded(m map[string]int64, name string) string {
	if _, ok := m[name]; !ok && len(m) >= maxKinds {
		return otherError
	}
	return name
}

// foundLocked counts a finding, by each place that differs.
func (c *counters) foundLocked(about *call, comparator report.Comparator, f finding) {
	if f.matches() {
		return
	}
	now, findings := time.Now(), about.op.findings
	for _, path := range f.paths() {
		kind := findingKind{comparator, f.class, path}
		if findings[kind] == nil && len(findings) >= maxKinds {
			kind.path = otherError
		}
		seen := findings[kind]
		if seen == nil {
			seen = &found{Finding: report.Finding{Comparator: comparator, Class: f.class, Path: kind.path, First: now}}
			findings[kind] = seen
		}
		seen.Count++
		seen.Last = now
		c.sampleLocked(about, seen, f)
	}
	if f.class.Blocks() {
		c.markDirtyLocked(about, f, now)
	}
}

// markDirtyLocked notes that a key diverges.
func (c *counters) markDirtyLocked(about *call, f finding, now time.Time) {
	d := c.dirty[f.key]
	if d == nil {
		if len(c.dirty) >= maxDirty {
			return
		}
		d = &report.DirtyKey{
			Key: f.key, Domain: about.op.id.domain, Class: f.class, Path: f.paths()[0], First: now, OpID: opID(c.cfg, about),
		}
		c.dirty[f.key] = d
	}
	d.Count++
}

// sampleLocked keeps a redacted finding as a sample, if there is room.
func (c *counters) sampleLocked(about *call, of *found, f finding) {
	if c.fullLocked(of) || len(f.redacted) < len(f.differences) {
		return
	}
	if of.samples == nil {
		c.sampled++
	}
	of.samples = append(of.samples, report.Sample{
		Comparator: of.Comparator, Class: f.class, Domain: about.op.id.domain, Operation: about.op.id.name, OpID: opID(c.cfg, about),
		Key: f.key, At: of.Last, Process: c.cfg.Process, More: f.more, Explain: f.explain,
		Legacy: f.legacy, Candidate: f.candidate, LegacyExpiry: f.legacyExpiry, CandidateExpiry: f.candidateExpiry,
		Differences: slices.Clone(f.redacted),
	})
}

// opID identifies a call in reports.
func opID(cfg Config, c *call) string { return fmt.Sprintf("%s#%d", cfg.Process, c.id) }
