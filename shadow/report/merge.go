package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Merge adds up the reports of many processes. The order of the reports does not matter, and a
// report may be merged already. Merge changes none of the reports and shares nothing with them.
//
// Counts and latencies add up. A key that several processes have seen counts once. Of a process that
// is there twice, the later state is shown, but the counts of both are added: merge only the latest
// report of each process. Where processes disagree, Mode is "mixed", Build and Name list all values,
// and Percent is the smallest. Policy is that of the report taken last.
//
// Merge returns an error for reports of another Schema, and for an A/A run among others.
func Merge(reports ...*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, errors.New("report: nothing to merge: pass at least one report")
	}
	first := reports[0]
	out := &Report{Schema: first.Schema, AA: first.AA, Percent: first.Percent}
	for _, r := range reports {
		switch {
		case r.Schema != Schema:
			return nil, fmt.Errorf("report: %s has schema %d, this program merges %d", r.title(), r.Schema, Schema)
		case r.AA != first.AA:
			return nil, fmt.Errorf("report: one of %s and %s is an A/A run: merge A/A runs apart from others", first.title(), r.title())
		}
		out.add(r)
	}
	out.sort()
	return out, nil
}

// title names a report in an error.
func (r *Report) title() string {
	var names []string
	for _, p := range r.Processes {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%q", r.Name)
	}
	return fmt.Sprintf("%q of %s", r.Name, strings.Join(names, ", "))
}

func (r *Report) add(other *Report) {
	r.Name, r.Build = joined(r.Name, other.Name), joined(r.Build, other.Build)
	r.Mode = agreed(r.Mode, other.Mode)
	r.Percent = min(r.Percent, other.Percent)
	if cmp.Or(other.Taken.Compare(r.Taken), comparePolicies(other.Policy, r.Policy)) > 0 {
		r.Policy = other.Policy
		r.Policy.Known = slices.Clone(other.Policy.Known)
	}
	r.Started, r.Taken = earlier(r.Started, other.Started), later(r.Taken, other.Taken)
	for _, op := range other.Operations {
		sum, isNew := entry(&r.Operations, func(o Operation) bool { return compareOperations(o, op) == 0 })
		if isNew {
			sum.Domain, sum.Name, sum.Tallies = op.Domain, op.Name, map[Comparator]Tally{}
		}
		sum.add(op)
	}
	r.Health.add(other.Health)
	r.Peak.merge(other.Peak)
	for _, m := range other.Marks {
		m.At = utc(m.At)
		r.Marks = append(r.Marks, m)
	}
	// All keys stay: a key that is rare in these processes may be frequent in the next.
	for _, k := range other.Keys {
		k.First = utc(k.First)
		first, isNew := entry(&r.Keys, func(o DirtyKey) bool { return o.Domain == k.Domain && o.Key == k.Key })
		count := first.Count + k.Count
		if isNew || compareFirst(k, *first) < 0 {
			*first = k
		}
		first.Count = count
	}
	for _, s := range other.Samples {
		s.At, s.Differences = utc(s.At), slices.Clone(s.Differences)
		r.Samples = append(r.Samples, s)
	}
	for _, p := range other.Processes {
		p.Seen = utc(p.Seen)
		last, isNew := entry(&r.Processes, func(o Process) bool { return o.Name == p.Name })
		if isNew || cmp.Or(p.Seen.Compare(last.Seen), compareText(p, *last)) > 0 {
			*last = p
		}
	}
	if c := other.Calibration; c != nil && (r.Calibration == nil || compareCalibrations(*c, *r.Calibration) > 0) {
		r.Calibration = &Calibration{utc(c.Taken), c.Compared, c.Blocking}
	}
}

// entry finds an element, or appends a zero one.
func entry[T any](all *[]T, same func(T) bool) (found *T, isNew bool) {
	i := slices.IndexFunc(*all, same)
	if isNew = i < 0; isNew {
		i = len(*all)
		*all = append(*all, *new(T))
	}
	return &(*all)[i], isNew
}

// addUp adds the counts, latencies and sketches of other to those of sum. Texts, times and lists
// of sum stay. Both share nothing afterwards.
func addUp[T any](sum *T, other T) { addFields(reflect.ValueOf(sum).Elem(), reflect.ValueOf(other)) }

func addFields(sum, other reflect.Value) {
	switch into := sum.Addr().Interface().(type) {
	case *Latency:
		into.Add(other.Interface().(Latency))
		return
	case *KeySketch:
		into.merge(other.Interface().(KeySketch))
		return
	case *time.Time:
		return
	}
	switch sum.Kind() {
	case reflect.Int, reflect.Int64:
		sum.SetInt(sum.Int() + other.Int())
	case reflect.Struct:
		for i := range sum.NumField() {
			addFields(sum.Field(i), other.Field(i))
		}
	case reflect.Map:
		if sum.IsNil() && other.Len() > 0 {
			sum.Set(reflect.MakeMap(sum.Type()))
		}
		for key, value := range other.Seq2() {
			total := reflect.New(value.Type()).Elem()
			if had := sum.MapIndex(key); had.IsValid() {
				total.Set(had)
			}
			addFields(total, value)
			sum.SetMapIndex(key, total)
		}
	}
}

func (op *Operation) add(other Operation) {
	op.Since = earlier(op.Since, other.Since)
	for _, f := range other.Findings {
		sum, isNew := entry(&op.Findings, func(g Finding) bool { return compareFindings(f, g) == 0 })
		if isNew {
			*sum = Finding{Comparator: f.Comparator, Class: f.Class, Path: f.Path}
		}
		sum.Count += f.Count
		sum.First, sum.Last = earlier(sum.First, f.First), later(sum.Last, f.Last)
	}
	addUp(op, other)
}

func (h *Health) add(other Health) {
	if states := []string{"closed", "half-open", "open"}; slices.Index(states, other.Breaker) > slices.Index(states, h.Breaker) {
		h.Breaker = other.Breaker
	}
	most := max(h.QueueMost, other.QueueMost)
	addUp(h, other)
	h.QueueMost = most
}

// sort makes a merged report independent of the order of the reports.
func (r *Report) sort() {
	const perKind = 5 // samples
	slices.SortFunc(r.Operations, compareOperations)
	for i := range r.Operations {
		slices.SortFunc(r.Operations[i].Findings, compareFindings)
	}
	slices.SortFunc(r.Marks, compareMarks)
	// Every process records the switches of an operator.
	r.Marks = slices.CompactFunc(r.Marks, func(a, b Mark) bool { return compareMarks(a, b) == 0 })
	slices.SortFunc(r.Keys, func(a, b DirtyKey) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), compareFirst(a, b), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(r.Processes, compareNames)
	slices.SortFunc(r.Samples, compareSamples)
	kept := map[[5]string]int{}
	r.Samples = slices.DeleteFunc(r.Samples, func(s Sample) bool {
		kept[placeOf(s)]++
		return kept[placeOf(s)] > perKind
	})
}

// joined lists the names of both, sorted, with commas.
func joined(a, b string) string {
	all := slices.Concat(splitList(a), splitList(b))
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// agreed returns the mode of both, or "mixed".
func agreed(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	default:
		return mixed
	}
}

// utc removes the zone and the monotonic clock, so that equal times compare and print equally.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }

// earlier ignores a zero time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return utc(b)
	}
	return utc(a)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return utc(b)
	}
	return utc(a)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sortedBy returns a sorted copy.
func sortedBy[T any](all []T, compare func(a, b T) int) []T {
	return slices.SortedStableFunc(slices.Values(all), compare)
}

func compareNames(a, b Process) int { return cmp.Compare(a.Name, b.Name) }

func compareOperations(a, b Operation) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
}

// compareFindings orders by comparator and class, known ones first in the order of their tables.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Comparators(), a.Comparator), slices.Index(Comparators(), b.Comparator)),
		cmp.Compare(a.Class.rank(), b.Class.rank()),
		cmp.Compare(a.Comparator, b.Comparator), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Path, b.Path))
}

func compareMarks(a, b Mark) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why))
}

// compareFirst orders dirty keys by their first difference.
func compareFirst(a, b DirtyKey) int {
	return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.OpID, b.OpID), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Path, b.Path))
}

// compareText is an arbitrary total order.
func compareText(a, b any) int {
	if reflect.DeepEqual(a, b) { // the usual case, and cheaper
		return 0
	}
	return cmp.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b))
}

// comparePolicies orders a zero Policy first.
func comparePolicies(a, b Policy) int {
	switch aIsZero, bIsZero := a.isZero(), b.isZero(); {
	case aIsZero && bIsZero:
		return 0
	case aIsZero:
		return -1
	case bIsZero:
		return 1
	}
	return compareText(a, b)
}

// compareCalibrations orders by time. Of the same time, the worse result is the greater one.
func compareCalibrations(a, b Calibration) int {
	return cmp.Or(a.Taken.Compare(b.Taken), cmp.Compare(a.Blocking, b.Blocking), cmp.Compare(b.Compared, a.Compared))
}

func compareSamples(a, b Sample) int {
	if c := cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Process, b.Process), cmp.Compare(a.OpID, b.OpID)); c != 0 {
		return c
	}
	return compareText(a, b)
}

// placeOf identifies the kind of a sample.
func placeOf(s Sample) [5]string {
	p := [5]string{string(s.Comparator), string(s.Class), s.Domain, s.Operation}
	if len(s.Differences) > 0 {
		p[4] = s.Differences[0].Path
	}
	return p
}
