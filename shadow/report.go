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
	c := s.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &report.Report{
		Schema: report.Schema, Name: c.cfg.Name, Build: c.cfg.Build, AA: c.cfg.AA,
		Policy:  c.cfg.Policy,
		Started: c.started, Taken: time.Now(), Marks: slices.Clone(c.marks), Peak: c.peak,
		Percent: float64(s.shareNow()) * 100 / buckets, Health: clonedHealth(c.health),
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
	return r
}

// process describes this process, as one of a fleet.
func (s *Store) process() report.Process {
	p := report.Process{Name: s.cfg.Process, Build: s.cfg.Build, Asked: "shadow", Mode: "shadow"}
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
	h.Lag, h.QueueWait, h.LockWait = h.Lag.Clone(), h.QueueWait.Clone(), h.LockWait.Clone()
	return h
}
