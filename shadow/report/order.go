package report

import (
	"cmp"
	"maps"
	"slices"
)

// sortedKeys makes the order of a map the same each time.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func compareOperations(a, b Operation) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
}

// compareFindings orders by comparator and by precedence, as they are shown.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Comparators(), a.Comparator), slices.Index(Comparators(), b.Comparator)),
		cmp.Compare(a.Class.rank(), b.Class.rank()),
		cmp.Compare(a.Comparator, b.Comparator), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Path, b.Path))
}

func compareMarks(a, b Mark) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why))
}

// compareFirst orders dirty keys by what was seen first.
func compareFirst(a, b DirtyKey) int {
	return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.OpID, b.OpID), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Path, b.Path))
}

// compareProcesses orders by news. Of what was seen at once, any will do, if it is always
// the same.
func compareProcesses(a, b Process) int {
	return cmp.Or(
		a.Seen.Compare(b.Seen), cmp.Compare(a.Build, b.Build), cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Mode, b.Mode),
		cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Percent, b.Percent), cmp.Compare(a.Queue, b.Queue),
		cmp.Compare(a.Breaker, b.Breaker))
}

// compareCalibrations orders by news, and prefers the one that says less good.
func compareCalibrations(a, b Calibration) int {
	return cmp.Or(a.Taken.Compare(b.Taken), cmp.Compare(a.Blocking, b.Blocking), cmp.Compare(b.Compared, a.Compared))
}

// compareSamples orders by time, so that the first of each kind are kept.
func compareSamples(a, b Sample) int {
	return cmp.Or(
		a.At.Compare(b.At), cmp.Compare(a.Process, b.Process), cmp.Compare(a.OpID, b.OpID),
		cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Comparator, b.Comparator),
		cmp.Compare(a.Class, b.Class), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Explain, b.Explain),
		cmp.Compare(a.Legacy, b.Legacy), cmp.Compare(a.Candidate, b.Candidate),
		cmp.Compare(a.LegacyExpiry, b.LegacyExpiry), cmp.Compare(a.CandidateExpiry, b.CandidateExpiry),
		cmp.Compare(a.More, b.More), slices.CompareFunc(a.Differences, b.Differences, compareDifferences))
}

func compareDifferences(a, b Difference) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Legacy, b.Legacy), cmp.Compare(a.Candidate, b.Candidate))
}

// place is where a sample belongs: of each, a few are enough.
type place struct {
	comparator        Comparator
	class             Class
	domain, operation string
	path              string
}

func placeOf(s Sample) place {
	p := place{s.Comparator, s.Class, s.Domain, s.Operation, ""}
	if len(s.Differences) > 0 {
		p.path = s.Differences[0].Path
	}
	return p
}
