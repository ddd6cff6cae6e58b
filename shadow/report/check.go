package report

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Check reports everything that no shadow writes into a Report: calls that are not accounted for
// (see [Tally]), findings without a compared call, negative counts, a class of a later version.
// Call it for a Report that was read from a file. [Report.Judge] includes it.
func (r *Report) Check() error {
	var errs []error
	for _, problem := range slices.Concat(r.accounting(), r.implausible()) {
		errs = append(errs, errors.New("report: "+problem))
	}
	return errors.Join(errs...)
}

type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// accounting lists the counts that do not add up.
func (r *Report) accounting() (found problems) {
	for _, op := range r.Operations {
		where := operationName(op.Domain, op.Name)
		for _, comparator := range sortedKeys(op.Tallies) {
			found = append(found, op.unbalanced(comparator)...)
		}
		for _, f := range op.Findings {
			// One call can differ at several places, so findings may outnumber calls.
			counts := op.Tallies[f.Comparator].Classes
			if f.Count > 0 && counts[f.Class] == 0 {
				found.add("%s, %s: %s found at %q, no call counted as such",
					where, f.Comparator, wrap.Counted(f.Count, string(f.Class)+" difference"), f.Path)
			}
		}
		if compared := op.Tallies[Seeded].Compared; total(op.Outcomes) > compared {
			found.add("%s: %s of calls, %s compared", where, wrap.Counted(total(op.Outcomes), "outcome"), wrap.Grouped(compared))
		}
		if op.Contended > op.Audited {
			found.add("%s: %s of the free run contended, %s audited", where, wrap.Counted(op.Contended, "commit"), wrap.Grouped(op.Audited))
		}
	}
	return found
}

// implausible lists values that no shadow writes.
func (r *Report) implausible() (found problems) {
	if r.Schema != Schema {
		found.add("schema %d, not %d", r.Schema, Schema)
	}
	if !(r.Percent >= 0 && r.Percent <= 100) {
		found.add("%v %% of the keys", r.Percent)
	}
	if r.Taken.Before(r.Started) {
		found.add("taken at %s, before it started at %s", r.Taken, r.Started)
	}
	seen := map[[2]string]bool{}
	for _, op := range r.Operations {
		where, key := operationName(op.Domain, op.Name), [2]string{op.Domain, op.Name}
		if seen[key] {
			found.add("%s is there twice", where)
		}
		seen[key] = true
		if len(op.Keys) != 0 && len(op.Keys) != sketchBytes {
			found.add("%s: the sketch of the keys has %d bytes, not %d", where, len(op.Keys), sketchBytes)
		}
		for _, comparator := range sortedKeys(op.Tallies) {
			if !slices.Contains(Comparators(), comparator) {
				found.add("%s: a comparator %q is not known here", where, comparator)
			}
		}
		found.counts(where, reflect.ValueOf(op))
	}
	found.counts("health", reflect.ValueOf(r.Health))
	for _, m := range []Minute{r.Peak.Busiest, r.Peak.Clear} {
		found.counts("minute "+m.At.Format("15:04"), reflect.ValueOf(m))
	}
	if r.Calibration != nil {
		found.counts("calibration", reflect.ValueOf(*r.Calibration))
	}
	return found
}

// counts adds the negative counts and the unknown classes anywhere in v.
func (p *problems) counts(where string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			p.add("%s: a count is %d", where, v.Int())
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			below := where
			if p.class(where, key) || key.Type() != reflect.TypeFor[Comparator]() {
				below += ", " + key.String()
			}
			p.counts(below, v.MapIndex(key))
		}
	case reflect.Slice:
		for i := range v.Len() {
			if v.Index(i).Kind() == reflect.Struct { // not the bytes of a sketch
				p.counts(where, v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			if p.class(where, field) {
				where += ", " + field.String()
			}
			p.counts(where, field)
		}
	}
}

// class reports whether v is a Class, and adds it if it is unknown.
func (p *problems) class(where string, v reflect.Value) (is bool) {
	is = v.Type() == reflect.TypeFor[Class]()
	if is && Class(v.String()).rank() < 0 {
		p.add("%s: a class %q is not known here: a later version has written it", where, v.String())
	}
	return is
}

// unbalanced lists the counts of a Comparator that do not add up, over all operations.
func (r *Report) unbalanced(c Comparator) (found problems) {
	for _, op := range r.Operations {
		found = append(found, op.unbalanced(c)...)
	}
	return found
}

func (op Operation) unbalanced(c Comparator) (found problems) {
	t, where := op.Tallies[c], fmt.Sprintf("%s, %s", operationName(op.Domain, op.Name), c)
	if sum := t.Compared + t.InFlight + total(t.NotCompared); sum != t.Eligible {
		found.add("%s: %s eligible, %s compared, not compared or in flight", where, wrap.Counted(t.Eligible, "call"), wrap.Grouped(sum))
	}
	if sum := total(t.Classes); sum != t.Compared {
		found.add("%s: %s compared, %s with a class", where, wrap.Counted(t.Compared, "call"), wrap.Grouped(sum))
	}
	return found
}
