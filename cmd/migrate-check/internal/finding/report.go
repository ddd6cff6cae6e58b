package finding

import (
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// Report is all that a check has to tell.
type Report struct {
	Findings []Finding
	Summary  Summary
	Root     string // the folder that paths begin at
	Lost     bool   // the go command could not list the packages
}

// Summary is what a check has looked at, what it has found, and what it could not see.
type Summary struct {
	Packages int            `json:"packages"` // that were asked for
	Files    int            `json:"files"`    // of other languages, looked at by their words
	Findings int            `json:"findings"` // that count
	Shown    int            `json:"shown"`    // with those that do not: notes, tests, what is suppressed
	Lexical  int            `json:"lexical"`  // by words, that do not count without -count-lexical
	Rules    map[string]int `json:"rules"`    // how many of those that count, by rule
	Exit     int            `json:"exit"`     // the exit code

	// Reach says how many of those that count are reached from where.
	Reach map[string]int `json:"reach,omitempty"`

	Baseline *Burndown `json:"baseline,omitempty"`
	// Unseen is what could not be looked at. If it is not empty, nothing found does not mean
	// that nothing is there.
	Unseen []Unseen `json:"unseen"`
	// Modules are others below, that are programs of their own and were not asked for.
	Modules []Unseen `json:"modules,omitempty"`
	// Passed are files and folders of other languages that were passed over: not code of one's
	// own, or too large.
	Passed []Unseen `json:"passed,omitempty"`
	// Interrupted says that the check was ended before its end.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Unseen is a package or a file that could not be looked at with its types.
type Unseen struct {
	Path   string `json:"path"` // of a file, or of a package
	Reason string `json:"reason"`
	// Scanned says that its words were looked at, so that it may have findings of low
	// confidence.
	Scanned bool `json:"scanned"`
}

// Burndown is how far the findings of a baseline have become fewer.
type Burndown struct {
	Recorded int      `json:"recorded"`
	Left     int      `json:"left"`
	Stale    []string `json:"stale,omitempty"` // the fingerprints of those that are gone
}

// Looked reports whether the packages were looked at, as far as their code permits.
func (r *Report) Looked() bool { return r.Root != "" && !r.Lost }

// Count counts the findings.
func (r *Report) Count() {
	s := &r.Summary
	s.Findings, s.Lexical, s.Shown, s.Rules, s.Reach = 0, 0, len(r.Findings), map[string]int{}, nil
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Counts() {
			if f.Confidence == Low && f.Suppressed == nil && f.Severity != rules.Note && !f.Has(Test) {
				s.Lexical++
			}
			continue
		}
		s.Findings++
		s.Rules[f.Rule]++
		if f.Reach != "" {
			if s.Reach == nil {
				s.Reach = map[string]int{}
			}
			s.Reach[f.Reach]++
		}
	}
	if s.Unseen == nil {
		s.Unseen = []Unseen{}
	}
}

// Has reports whether a finding has a label.
func (f *Finding) Has(label Label) bool { return slices.Contains(f.Labels, label) }
