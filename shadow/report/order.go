package report

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

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

func compareProcesses(a, b Process) int { return cmp.Or(a.Seen.Compare(b.Seen), compareText(a, b)) }

// compareText is an arbitrary total order.
func compareText(a, b any) int {
	if reflect.DeepEqual(a, b) { // the usual case, and cheaper
		return 0
	}
	return cmp.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b))
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
