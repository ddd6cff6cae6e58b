// Package finding has the findings of migrate-check, for all analyzers and all output formats.
package finding

import (
	"cmp"
	"slices"

	"github.com/unwatch/unwatch/internal/rules"
)

// Confidence is the certainty of a finding.
type Confidence string

// The confidences.
const (
	High Confidence = "high" // by types
	Low  Confidence = "low"  // by words
)

// Label is a kind of file.
type Label string

// The labels.
const (
	Test      Label = "test"
	Generated Label = "generated"
	Vendored  Label = "vendored"
	NotBuilt  Label = "not-built" // under the given build tags and system
	Dependent Label = "dependency"
)

// Finding is a place in the code that breaks a rule.
type Finding struct {
	Rule       string         `json:"rule"` // "MC101"
	Severity   rules.Severity `json:"severity"`
	Confidence Confidence     `json:"confidence"`
	Place
	Began     int     `json:"-"` // the first line of its expression, if before Line; else 0
	EndLine   int     `json:"end_line,omitempty"`
	EndColumn int     `json:"end_column,omitempty"`
	Labels    []Label `json:"labels,omitempty"`

	Package string `json:"package,omitempty"` // its import path; "" in other languages
	Func    string `json:"func,omitempty"`    // the function around it: "(*Store).Take"

	// Related lists other places that belong to it, as the callers of a helper.
	Related []Place `json:"related,omitempty"`
	// Stack is the shortest call path to it, from a main or an exported function.
	Stack []Place `json:"stack,omitempty"`
	// Reach is the start of that path: "main", "exported", "test", or "none".
	Reach string `json:"reach,omitempty"`
	// Change explains a WATCH or a MULTI, and what replaces it.
	Change *Change `json:"change,omitempty"`
	// Advice is the advice of the rule, in one line.
	Advice string `json:"advice,omitempty"`
	// Uncounted marks a finding that is only shown: in a test, unless tests count.
	Uncounted bool `json:"uncounted,omitempty"`

	// Statement is the normalized code of the finding, for the fingerprint.
	Statement string `json:"-"`
	// Fingerprint does not depend on line numbers: see package baseline.
	Fingerprint string       `json:"fingerprint,omitempty"`
	Suppressed  *Suppression `json:"suppressed,omitempty"`
}

// Place is a place in a file. Lines and columns count from 1, columns in bytes.
type Place struct {
	Path    string `json:"path"` // with slashes, from the root of the module
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message,omitempty"`
}

// Change explains a transaction in words.
type Change struct {
	Class   string   `json:"class"` // "one string", "a record and its index"
	Watched []string `json:"watched,omitempty"`
	Written []string `json:"written,omitempty"`
	Advice  string   `json:"advice"`
	Before  string   `json:"before,omitempty"` // the commands in the code
	After   string   `json:"after,omitempty"`  // the call that replaces them
	TTL     string   `json:"ttl,omitempty"`    // the expiry that the call must leave behind, and the reason
}

// Brief is the change in one line: its class, and the call or the advice.
func (c *Change) Brief() string {
	if c.After != "" {
		return c.Class + ": " + c.After
	}
	return c.Class + ": " + c.Advice
}

// Suppression is the reason why a finding does not count.
type Suppression struct {
	By     string `json:"by"` // "baseline", "directive"
	Reason string `json:"reason,omitempty"`
}

// Counts reports whether a finding makes a check fail.
func (f *Finding) Counts() bool {
	return f.Suppressed == nil && f.Severity != rules.Note && !f.Uncounted
}

// Sort sorts by place, and then by rule.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
}
