package finding

import (
	"slices"

	"github.com/unwatch/unwatch/internal/rules"
)

// Report is the result of a check.
type Report struct {
	Findings []Finding
	Summary  Summary
	Root     string // the folder of relative paths
	Lost     bool   // the go command could not list the packages
}

// Summary counts the packages and findings of a check, and lists the code that it could not analyze.
type Summary struct {
	Packages int            `json:"packages"` // matched by the patterns
	Files    int            `json:"files"`    // of other languages, searched by words
	Findings int            `json:"findings"` // that count
	Shown    int            `json:"shown"`    // those, and notes, findings in tests, and suppressed ones
	Lexical  int            `json:"lexical"`  // by words, with -count-lexical=false
	Rules    map[string]int `json:"rules"`    // findings that count, by rule
	Exit     int            `json:"exit"`     // the exit code

	// Reach has the number of findings that count, by Finding.Reach.
	Reach map[string]int `json:"reach,omitempty"`

	Baseline *Burndown `json:"baseline,omitempty"`
	// Unseen lists code that the check could not analyze. If it is not empty, the findings are incomplete.
	Unseen []Unseen `json:"unseen"`
	// Modules lists nested modules outside of the check.
	Modules []Unseen `json:"modules,omitempty"`
	// Passed lists code that the check leaves out: third-party code and built files in other languages, and generated files
	// if a flag says so.
	Passed []Unseen `json:"passed,omitempty"`
	// Interrupted marks a check that was cancelled.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Unseen is a package or a file that the check could not analyze by types.
type Unseen struct {
	Path   string `json:"path"` // of a file, or of a package
	Reason string `json:"reason"`
	// Scanned marks one that was searched by words, and may have findings of low confidence.
	Scanned bool `json:"scanned"`
}

// Burndown is the progress since a baseline.
type Burndown struct {
	Recorded int      `json:"recorded"`
	Left     int      `json:"left"`
	Stale    []string `json:"stale,omitempty"` // fingerprints without a finding
}

// Looked reports whether the go command could list the packages.
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
