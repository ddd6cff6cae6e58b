package rewrite

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Unfixed is what a diagnostic says in place of a fix.
type Unfixed struct {
	Why      string // in one line
	Scaffold string // Go, or nothing
}

const unfixed = "not fixed: "

// Related is how it travels in a diagnostic, which has no other room for it.
func (u Unfixed) Related(pos, end token.Pos) analysis.RelatedInformation {
	return analysis.RelatedInformation{Pos: pos, End: end, Message: unfixed + u.Why + "\n" + u.Scaffold}
}

// UnfixedOf returns what a diagnostic says in place of a fix, and the other related places.
func UnfixedOf(d analysis.Diagnostic) (u Unfixed, others []analysis.RelatedInformation, ok bool) {
	for _, r := range d.Related {
		text, found := strings.CutPrefix(r.Message, unfixed)
		if !found {
			others = append(others, r)
			continue
		}
		u.Why, u.Scaffold, _ = strings.Cut(text, "\n")
		ok = true
	}
	return u, others, ok
}
