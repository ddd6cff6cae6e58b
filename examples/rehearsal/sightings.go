package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/shadow/report"
)

// sighting is one kind of difference that a comparator found.
type sighting struct {
	by    report.Comparator
	class report.Class
	path  string
	count int64
}

func (s sighting) String() string {
	text := string(s.class)
	if s.path != "" {
		text += " at " + s.path
	}
	if s.by == report.Verifier {
		return fmt.Sprintf("%s, %s times", text, count(int(s.count))) // keys times rounds
	}
	return fmt.Sprintf("%s, %s calls", text, count(int(s.count)))
}

// sightings returns all differences of a report that prevent a cut-over, by comparator.
func sightings(r *report.Report) (all []sighting) {
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if f.Class.Blocks() {
				all = append(all, sighting{f.Comparator, f.Class, f.Path, f.Count})
			}
		}
	}
	slices.SortFunc(all, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(b.count, a.count), cmp.Compare(a.path, b.path), cmp.Compare(a.class, b.class))
	})
	return all
}

// of returns the differences of one comparator.
func of(c report.Comparator, all []sighting) []sighting {
	return slices.DeleteFunc(slices.Clone(all), func(s sighting) bool { return s.by != c })
}

func listed(all []sighting) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return strings.Join(texts, "; ")
}

// comparatorName returns the display name of a comparator.
func comparatorName(c report.Comparator) string {
	if c == report.Free {
		return "free run"
	}
	return string(c)
}

// talliesOf describes the number of calls that a comparator compared, and the result.
func talliesOf(r *report.Report, c report.Comparator) string {
	compared, audited, contended := int64(0), int64(0), int64(0)
	classes, not := map[report.Class]int64{}, map[report.Reason]int64{}
	for _, op := range r.Operations {
		t := op.Tallies[c]
		compared += t.Compared
		audited += op.Audited
		contended += op.Contended
		for class, n := range t.Classes {
			classes[class] += n
		}
		for reason, n := range t.NotCompared {
			not[reason] += n
		}
	}
	parts := []string{count(int(compared)) + " calls compared"}
	for _, class := range report.Classes() {
		if n := classes[class]; n > 0 {
			parts = append(parts, count(int(n))+" "+string(class))
		}
	}
	if c == report.Free {
		parts = append(parts, fmt.Sprintf("%s audited, %s contended", count(int(audited)), count(int(contended))))
	}
	for _, reason := range slices.Sorted(maps.Keys(not)) {
		parts = append(parts, fmt.Sprintf("%s not compared (%s)", count(int(not[reason])), reason))
	}
	return strings.Join(parts, ", ")
}
