package report

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/internal/wrap"
)

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

func total[K comparable](counts map[K]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
