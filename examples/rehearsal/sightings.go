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
	count int64
	text  string
}

// sightings returns all differences of a report that prevent a cut-over, by comparator.
func sightings(r *report.Report) (all []sighting) {
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if !f.Class.Blocks() {
				continue
			}
			text, unit := string(f.Class), "calls"
			if f.Path != "" {
				text += " at " + f.Path
			}
			if f.Comparator == report.Verifier {
				unit = "times" // keys times rounds
			}
			all = append(all, sighting{f.Comparator, f.Class, f.Count, fmt.Sprintf("%s, %s %s", text, count(f.Count), unit)})
		}
	}
	slices.SortFunc(all, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
	})
	return all
}

func listed(all []sighting) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
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

// tally describes the number of calls that a comparator compared, and the result.
func tally(r *report.Report, c report.Comparator) string {
	var compared, audited, contended int64
	classes, not := map[report.Class]int64{}, map[report.Reason]int64{}
	for _, op := range r.Operations {
		t := op.Tallies[c]
		compared, audited, contended = compared+t.Compared, audited+op.Audited, contended+op.Contended
		for class, n := range t.Classes {
			classes[class] += n
		}
		for reason, n := range t.NotCompared {
			not[reason] += n
		}
	}
	text := count(compared) + " calls compared"
	for _, class := range report.Classes() {
		if n := classes[class]; n > 0 {
			text += fmt.Sprintf(", %s %s", count(n), class)
		}
	}
	if c == report.Free {
		text += fmt.Sprintf(", %s audited, %s contended", count(audited), count(contended))
	}
	for _, reason := range slices.Sorted(maps.Keys(not)) {
		text += fmt.Sprintf(", %s not compared (%s)", count(not[reason]), reason)
	}
	return text
}
