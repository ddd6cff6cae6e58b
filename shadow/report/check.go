package report

import (
	"errors"
	"fmt"
	"slices"
)

// Check reports everything that cannot be in a Report: calls that are not accounted for
// (see [Tally]), differences that no comparison came to, negative counts, a class of a
// later version. A Report from a file should pass it before anybody believes it; [Report.Judge]
// asks for it too.
func (r *Report) Check() error {
	var errs []error
	for _, problem := range slices.Concat(r.accounting(), r.implausible()) {
		errs = append(errs, errors.New("report: "+problem))
	}
	return errors.Join(errs...)
}

// accounting lists what does not add up.
func (r *Report) accounting() []string {
	var problems []string
	for _, op := range r.Operations {
		for _, comparator := range sortedKeys(op.Tallies) {
			problems = append(problems, op.unbalanced(comparator)...)
		}
		for _, f := range op.Findings {
			// A call can differ at several places, and so be found more often than it counts.
			counts := op.Tallies[f.Comparator].Classes
			if f.Comparator == Verifier {
				counts = r.Verify.Findings
			}
			if f.Count > 0 && counts[f.Class] == 0 {
				problems = append(problems, fmt.Sprintf("%s, %s: %s found at %q, no call counted as such",
					operationName(op.Domain, op.Name), f.Comparator, counted(f.Count, string(f.Class)+" difference"), f.Path))
			}
		}
		if compared := op.Tallies[Seeded].Compared; total(op.Outcomes) > compared {
			problems = append(problems, fmt.Sprintf("%s: %s of calls, %s compared", operationName(op.Domain, op.Name),
				counted(total(op.Outcomes), "outcome"), grouped(compared)))
		}
		if op.Contended > op.Audited {
			problems = append(problems, fmt.Sprintf("%s: %s of the free run contended, %s audited", operationName(op.Domain, op.Name),
				counted(op.Contended, "commit"), grouped(op.Audited)))
		}
	}
	return problems
}

// implausible lists what no shadow writes.
func (r *Report) implausible() []string {
	c := checker{}
	if r.Schema != Schema {
		c.add("schema %d, not %d", r.Schema, Schema)
	}
	if !(r.Percent >= 0 && r.Percent <= 100) {
		c.add("%v %% of the keys", r.Percent)
	}
	if r.Taken.Before(r.Started) {
		c.add("taken at %s, before it started at %s", r.Taken, r.Started)
	}
	seen := map[[2]string]bool{}
	for _, op := range r.Operations {
		where := operationName(op.Domain, op.Name)
		if key := [2]string{op.Domain, op.Name}; seen[key] {
			c.add("%s is there twice", where)
		} else {
			seen[key] = true
		}
		c.operation(where, op)
	}
	v := r.Verify
	c.counts("the verifier", int64(v.Rounds), v.Touched, v.Checked, v.Equal, v.Pending, v.Unknown, v.Untimed, v.Evicted, int64(v.Settled))
	for _, class := range sortedKeys(v.Findings) {
		c.class("the verifier", class)
		c.counts("the verifier", v.Findings[class])
	}
	h := r.Health
	c.counts("health", h.Legacy.Calls, h.Candidate.Calls, h.BreakerTrips, h.Queue, h.QueueBytes, h.QueueMost, h.Panics)
	for _, counts := range []map[string]int64{h.Legacy.Errors, h.Candidate.Errors, h.Resyncs} {
		for _, key := range sortedKeys(counts) {
			c.counts("health, "+key, counts[key])
		}
	}
	for _, m := range append(slices.Clone(r.Timeline), r.Peak.Busiest, r.Peak.Clear) {
		c.counts("minute "+m.At.Format("15:04"), m.Compared, m.NotCompared, m.Dropped, m.Diverged)
	}
	if r.Calibration != nil {
		c.counts("calibration", r.Calibration.Compared, r.Calibration.Blocking)
	}
	return c.problems
}

// checker collects what is implausible.
type checker struct{ problems []string }

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) operation(where string, op Operation) {
	c.counts(where, op.Audited, op.Contended)
	for _, outcome := range sortedKeys(op.Outcomes) {
		c.counts(where+", "+outcome, op.Outcomes[outcome])
	}
	if len(op.Keys) != 0 && len(op.Keys) != sketchBytes {
		c.add("%s: the sketch of the keys has %d bytes, not %d", where, len(op.Keys), sketchBytes)
	}
	for _, comparator := range sortedKeys(op.Tallies) {
		t := op.Tallies[comparator]
		if !slices.Contains(Comparators(), comparator) {
			c.add("%s: a comparator %q is not known here", where, comparator)
		}
		c.counts(where, t.Eligible, t.Compared, t.InFlight)
		for _, reason := range sortedKeys(t.NotCompared) {
			c.counts(where+", "+string(reason), t.NotCompared[reason])
		}
		for _, class := range sortedKeys(t.Classes) {
			c.class(where, class)
			c.counts(where+", "+string(class), t.Classes[class])
		}
	}
	for _, f := range op.Findings {
		c.class(where, f.Class)
		c.counts(where+", "+string(f.Class), f.Count)
	}
}

// class refuses what this program cannot know to block or not.
func (c *checker) class(where string, class Class) {
	if !slices.Contains(Classes(), class) {
		c.add("%s: a class %q is not known here: a later version has written it", where, class)
	}
}

func (c *checker) counts(where string, counts ...int64) {
	for _, n := range counts {
		if n < 0 {
			c.add("%s: a count is %d", where, n)
		}
	}
}
