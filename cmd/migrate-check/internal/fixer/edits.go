package fixer

import (
	"cmp"
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// inTheWay finds a change of which a part overlaps with a part of another. Two that insert the
// same, as an import, agree.
func inTheWay(taken []finding.Fix, fix finding.Fix) (finding.Fix, bool) {
	for _, other := range taken {
		for _, a := range other.Edits {
			for _, b := range fix.Edits {
				if a.Path == b.Path && overlap(a, b) {
					return other, true
				}
			}
		}
	}
	return finding.Fix{}, false
}

func overlap(a, b finding.Edit) bool {
	if a.Start == a.End && b.Start == b.End {
		return false // both insert
	}
	if a == b {
		return true
	}
	if a.Start == a.End {
		return b.Start < a.Start && a.Start < b.End
	}
	if b.Start == b.End {
		return a.Start < b.Start && b.Start < a.End
	}
	return a.Start < b.End && b.Start < a.End
}

// apply makes the edits of a file, which do not overlap. What is inserted twice at the same
// place by different changes is inserted once.
func apply(text []byte, name string, fixes []finding.Fix) []byte {
	var edits []finding.Edit
	for _, fix := range fixes {
		before := len(edits)
		for _, e := range fix.Edits {
			if e.Path != name || e.Start == e.End && slices.Contains(edits[:before], e) {
				continue
			}
			edits = append(edits, e)
		}
	}
	slices.SortStableFunc(edits, func(a, b finding.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, text[at:e.Start]...)
		out = append(out, e.Text...)
		at = e.End
	}
	return append(out, text[at:]...)
}
