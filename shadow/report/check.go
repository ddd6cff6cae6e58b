package report

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
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
		where, key := operationName(op.Domain, op.Name), [2]string{op.Domain, op.Name}
		if seen[key] {
			c.add("%s is there twice", where)
		}
		seen[key] = true
		if len(op.Keys) != 0 && len(op.Keys) != sketchBytes {
			c.add("%s: the sketch of the keys has %d bytes, not %d", where, len(op.Keys), sketchBytes)
		}
		for _, comparator := range sortedKeys(op.Tallies) {
			if !slices.Contains(Comparators(), comparator) {
				c.add("%s: a comparator %q is not known here", where, comparator)
			}
		}
		c.counts(where, reflect.ValueOf(op))
	}
	c.counts("the verifier", reflect.ValueOf(r.Verify))
	c.counts("health", reflect.ValueOf(r.Health))
	for _, m := range append(slices.Clone(r.Timeline), r.Peak.Busiest, r.Peak.Clear) {
		c.counts("minute "+m.At.Format("15:04"), reflect.ValueOf(m))
	}
	if r.Calibration != nil {
		c.counts("calibration", reflect.ValueOf(*r.Calibration))
	}
	return c.problems
}

// checker collects what is implausible.
type checker struct{ problems []string }

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// counts refuses negative ones, wherever they are in v, and classes that this program cannot
// know to block or not.
func (c *checker) counts(where string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			c.add("%s: a count is %d", where, v.Int())
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			below := where
			if c.class(where, key) || key.Type() != reflect.TypeFor[Comparator]() {
				below += ", " + key.String()
			}
			c.counts(below, v.MapIndex(key))
		}
	case reflect.Slice:
		for i := range v.Len() {
			if v.Index(i).Kind() == reflect.Struct { // no sketch
				c.counts(where, v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			if c.class(where, field) {
				where += ", " + field.String()
			}
			c.counts(where, field)
		}
	}
}

func (c *checker) class(where string, v reflect.Value) (is bool) {
	is = v.Type() == reflect.TypeFor[Class]()
	if is && Class(v.String()).rank() < 0 {
		c.add("%s: a class %q is not known here: a later version has written it", where, v.String())
	}
	return is
}
