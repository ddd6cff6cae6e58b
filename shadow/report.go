package shadow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/shadow/report"
)

const maxDirtyShown = 20

// Report returns a snapshot of all counts and findings.
func (s *Store) Report() *report.Report {
	c, touched := s.counters, s.engine.touched.len()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &report.Report{
		Schema: report.Schema, Name: c.cfg.Name, Build: c.cfg.Build, AA: c.cfg.AA,
		Policy:  c.cfg.Policy,
		Started: c.started, Taken: time.Now(), Timeline: slices.Clone(c.minutes), Marks: slices.Clone(c.marks), Peak: c.peak,
		Percent: float64(s.shareNow()) * 100 / buckets, Verify: c.verify, Health: clonedHealth(c.health),
	}
	r.Verify.Findings = maps.Clone(c.verify.Findings)
	if r.Verify.Rounds == 0 {
		r.Verify.Touched = touched // no round has counted them
	}
	c.addPeakLocked(&r.Peak)
	p := s.process()
	p.Queue, p.Breaker, p.Percent, p.Seen = r.Health.Queue, r.Health.Breaker, r.Percent, r.Taken
	r.Mode, r.Processes = p.Mode, []report.Process{p}
	for _, op := range slices.SortedFunc(maps.Values(*c.operations.Load()), func(x, y *operation) int {
		return cmp.Or(cmp.Compare(x.Domain, y.Domain), cmp.Compare(x.Name, y.Name))
	}) {
		op.addTo(r)
	}
	for _, d := range c.dirty {
		r.Keys = append(r.Keys, *d)
	}
	slices.SortFunc(r.Keys, func(x, y report.DirtyKey) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), x.First.Compare(y.First), cmp.Compare(x.Key, y.Key))
	})
	r.Keys = r.Keys[:min(len(r.Keys), maxDirtyShown)]
	if of := c.cfg.Calibration; of != nil {
		r.Calibration, _ = of.AsCalibration() // Validate has checked it
	}
	if c.cfg.Serve == Candidate {
		swapSides(r)
	}
	return r
}

// process describes this process, as one of a fleet.
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
	case s.shareNow() == 0: // Config.Off, SetPercent or Close
		p.Asked, p.Mode = "off", "off"
	}
	return p
}

func (op *operation) addTo(r *report.Report) {
	o := op.Operation
	o.Outcomes, o.Keys = maps.Clone(op.Outcomes), slices.Clone(op.Keys)
	o.Legacy, o.Candidate = op.Legacy.Clone(), op.Candidate.Clone()
	o.Tallies = map[report.Comparator]report.Tally{}
	for i, c := range comparators {
		if t := op.tallies[i]; t.Eligible > 0 {
			t.NotCompared, t.Classes = maps.Clone(t.NotCompared), maps.Clone(t.Classes)
			o.Tallies[c] = t
		}
	}
	for _, f := range slices.SortedFunc(maps.Values(op.findings), func(x, y *found) int {
		return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Comparator, y.Comparator))
	}) {
		o.Findings, r.Samples = append(o.Findings, f.Finding), append(r.Samples, f.samples...)
	}
	r.Operations = append(r.Operations, o)
}

func clonedHealth(h report.Health) report.Health {
	h.Legacy.Errors, h.Candidate.Errors = maps.Clone(h.Legacy.Errors), maps.Clone(h.Candidate.Errors)
	h.Resyncs = maps.Clone(h.Resyncs)
	h.Lag, h.QueueWait, h.LockWait = h.Lag.Clone(), h.QueueWait.Clone(), h.LockWait.Clone()
	return h
}

// swapSides names both paths as the report's reader does, when the candidate serves.
func swapSides(r *report.Report) {
	for i := range r.Operations {
		o := &r.Operations[i]
		o.Legacy, o.Candidate = o.Candidate, o.Legacy
	}
	r.Health.Legacy, r.Health.Candidate = r.Health.Candidate, r.Health.Legacy
	for i := range r.Samples {
		s := &r.Samples[i]
		s.Legacy, s.Candidate = s.Candidate, s.Legacy
		s.LegacyExpiry, s.CandidateExpiry = s.CandidateExpiry, s.LegacyExpiry
		s.Differences = slices.Clone(s.Differences) // the counters' own stay as they are
		for j := range s.Differences {
			d := &s.Differences[j]
			d.Legacy, d.Candidate = d.Candidate, d.Legacy
		}
	}
}
