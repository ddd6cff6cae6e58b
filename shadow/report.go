package shadow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/shadow/report"
)

// report is what was counted so far, all of one moment.
func (b *book) report(s *Store) *report.Report {
	touched := s.engine.touched.len()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &report.Report{
		Schema: report.Schema, Name: b.cfg.Name, Build: b.cfg.Build, AA: b.cfg.AA,
		Started: b.started, Taken: time.Now(), Timeline: slices.Clone(b.minutes), Marks: slices.Clone(b.marks), Peak: b.peak,
		Percent: float64(s.share.Load()) * 100 / buckets, Verify: b.verified, Health: b.health.report(),
		Operations: b.tell(),
	}
	r.Verify.Findings = maps.Clone(b.verified.Findings)
	if r.Verify.Rounds == 0 {
		r.Verify.Touched = touched // by nobody verified
	}
	if n := len(b.minutes); n > 0 {
		b.over(b.minutes[n-1], &r.Peak)
	}
	p := s.process()
	p.Queue, p.Breaker, p.Percent, p.Seen = b.health.inFlight, b.health.breaker, r.Percent, r.Taken
	r.Mode, r.Processes = p.Mode, []report.Process{p}
	for _, d := range b.dirty {
		r.Keys = append(r.Keys, *d)
	}
	slices.SortFunc(r.Keys, func(x, y report.DirtyKey) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), x.First.Compare(y.First), cmp.Compare(x.Key, y.Key))
	})
	r.Keys = r.Keys[:min(len(r.Keys), maxDirtyShown)]
	for _, kind := range slices.SortedFunc(maps.Keys(b.samples), compareKinds) {
		r.Samples = append(r.Samples, b.samples[kind]...)
	}
	if of := b.cfg.Calibration; of != nil {
		r.Calibration, _ = of.AsCalibration() // Validate has looked at it
	}
	if b.cfg.Serve == Candidate {
		turn(r)
	}
	return r
}

const maxDirtyShown = 20

func compareKinds(x, y sampleKind) int {
	return cmp.Or(
		cmp.Compare(x.domain, y.domain), cmp.Compare(x.name, y.name), cmp.Compare(x.class, y.class),
		cmp.Compare(x.path, y.path), cmp.Compare(x.comparator, y.comparator))
}

// process is this one, of a fleet.
func (s *Store) process() report.Process {
	asked := "shadow"
	if s.cfg.Serve == Candidate {
		asked = "reverse"
	}
	p := report.Process{Name: s.cfg.Process, Build: s.cfg.Build, Asked: asked, Mode: asked}
	switch {
	case s.invalid != nil:
		p.Mode, p.Reason = "off", s.invalid.Error()
	case s.killed.Load():
		p.Mode, p.Reason = "off", "killed"
	case s.share.Load() == 0: // Config.Off, SetPercent or Close
		p.Asked, p.Mode = "off", "off"
	}
	return p
}

// tell returns what is counted of the operations.
func (b *book) tell() (ops []report.Operation) {
	for _, op := range *b.operations.Load() {
		o := report.Operation{
			Domain: op.domain, Name: op.name, Since: op.since, Tallies: map[report.Comparator]report.Tally{},
			Outcomes: maps.Clone(op.outcomes), Keys: slices.Clone(op.keys),
			Legacy: op.legacy.Clone(), Candidate: op.candidate.Clone(), Audited: op.audited, Contended: op.contended,
		}
		for i, c := range report.Comparators() {
			if t := op.tallies[i]; t.eligible > 0 {
				o.Tallies[c] = t.report()
			}
		}
		for _, f := range op.findings {
			o.Findings = append(o.Findings, *f)
		}
		slices.SortFunc(o.Findings, func(x, y report.Finding) int {
			return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Comparator, y.Comparator))
		})
		ops = append(ops, o)
	}
	slices.SortFunc(ops, func(x, y report.Operation) int {
		return cmp.Or(cmp.Compare(x.Domain, y.Domain), cmp.Compare(x.Name, y.Name))
	})
	return ops
}

func (t tally) report() report.Tally {
	r := report.Tally{
		Eligible: t.eligible, Compared: t.compared, InFlight: t.inFlight,
		NotCompared: maps.Clone(t.not), Classes: maps.Clone(t.classes),
	}
	if t.droppedQueue > 0 {
		r.NotCompared[report.DroppedQueue] += t.droppedQueue
	}
	if t.droppedBytes > 0 {
		r.NotCompared[report.DroppedBytes] += t.droppedBytes
	}
	return r
}

func (h *health) report() report.Health {
	return report.Health{
		Legacy:    report.PathHealth{Calls: h.calls, Errors: maps.Clone(h.errors)},
		Candidate: report.PathHealth{Calls: h.hiddenCalls, Errors: maps.Clone(h.hiddenErrors)},
		Breaker:   h.breaker, BreakerTrips: h.trips, Queue: h.inFlight, QueueBytes: h.bytes, QueueMost: h.most,
		Panics: h.panics, Resyncs: maps.Clone(h.resyncs),
		Lag: h.lag.Clone(), QueueWait: h.queueWait.Clone(), LockWait: h.lock.Clone(),
	}
}

// turn puts what was counted of the serving and of the hidden path under the right
// names, when it is the candidate that serves.
func turn(r *report.Report) {
	for i := range r.Operations {
		o := &r.Operations[i]
		o.Legacy, o.Candidate = o.Candidate, o.Legacy
	}
	r.Health.Legacy, r.Health.Candidate = r.Health.Candidate, r.Health.Legacy
	for i := range r.Samples {
		s := &r.Samples[i]
		s.Legacy, s.Candidate = s.Candidate, s.Legacy
		s.LegacyExpiry, s.CandidateExpiry = s.CandidateExpiry, s.LegacyExpiry
		s.Differences = slices.Clone(s.Differences) // the book's stay as they are
		for j := range s.Differences {
			d := &s.Differences[j]
			d.Legacy, d.Candidate = d.Candidate, d.Legacy
		}
	}
}
