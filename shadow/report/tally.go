package report

import "slices"

// tallies are the sums over all operations.
type tallies map[Comparator]Tally

func (r *Report) totals() tallies {
	all := tallies{}
	for _, op := range r.Operations {
		addUp(&all, op.Tallies)
	}
	return all
}

// each returns a count by Comparator, in the order of Comparators.
func (t tallies) each(count func(Tally) int64) (counts []int64) {
	for _, c := range Comparators() {
		counts = append(counts, count(t[c]))
	}
	return counts
}

// allOf returns known, and then the names that a later version has added.
func allOf[K ~string](known []K, totals tallies, counts func(Tally) map[K]int64) []K {
	extra := map[K]bool{}
	for _, c := range Comparators() {
		for k := range counts(totals[c]) {
			extra[k] = !slices.Contains(known, k)
		}
	}
	for _, k := range sortedKeys(extra) {
		if extra[k] {
			known = append(known, k)
		}
	}
	return known
}

// missed counts the calls that were not compared, those with an excuse apart.
func (t Tally) missed() (missed, excused int64) {
	for reason, n := range t.NotCompared {
		if reason.Excused() {
			excused += n
		} else {
			missed += n
		}
	}
	return missed, excused
}

// blocked counts the calls of blocking classes.
func blocked(classes map[Class]int64) (sum int64) {
	for class, n := range classes {
		if class.Blocks() {
			sum += n
		}
	}
	return sum
}

func total[K comparable](counts map[K]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
