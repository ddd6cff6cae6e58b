package report

import (
	"fmt"
	"slices"
)

// tallies are those of all operations together.
type tallies map[Comparator]Tally

func (r *Report) totals() tallies {
	all := tallies{}
	for _, op := range r.Operations {
		addUp(&all, op.Tallies)
	}
	return all
}

// each returns a count of each Comparator, in the order in which they are shown.
func (t tallies) each(count func(Tally) int64) (counts []int64) {
	for _, c := range Comparators() {
		counts = append(counts, count(t[c]))
	}
	return counts
}

// allOf returns the known ones, and then any that a newer program has added.
func allOf[K ~string](known []K, totals tallies, counts func(Tally) map[K]int64) []K {
	var extra []K
	for _, c := range Comparators() {
		for k := range counts(totals[c]) {
			if !slices.Contains(known, k) && !slices.Contains(extra, k) {
				extra = append(extra, k)
			}
		}
	}
	slices.Sort(extra)
	return append(known, extra...)
}

// missed splits the calls that were not compared.
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

// blocked counts what is of a class that blocks.
func blocked(classes map[Class]int64) (sum int64) {
	for class, n := range classes {
		if class.Blocks() {
			sum += n
		}
	}
	return sum
}

// unbalanced lists what of a Comparator's calls does not add up.
func (r *Report) unbalanced(c Comparator) (problems []string) {
	for _, op := range r.Operations {
		problems = append(problems, op.unbalanced(c)...)
	}
	return problems
}

func (op Operation) unbalanced(c Comparator) (problems []string) {
	t, where := op.Tallies[c], fmt.Sprintf("%s, %s: ", operationName(op.Domain, op.Name), c)
	if sum := t.Compared + t.InFlight + total(t.NotCompared); sum != t.Eligible {
		problems = append(problems, fmt.Sprintf("%s%s eligible, %s compared, not compared or in flight",
			where, counted(t.Eligible, "call"), grouped(sum)))
	}
	if sum := total(t.Classes); sum != t.Compared {
		problems = append(problems, fmt.Sprintf("%s%s compared, %s with a class", where, counted(t.Compared, "call"), grouped(sum)))
	}
	return problems
}

func total[K comparable](counts map[K]int64) int64 {
	var sum int64
	for _, n := range counts {
		sum += n
	}
	return sum
}
