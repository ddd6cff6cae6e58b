// Package finding is what migrate-check tells of a place in the code, whoever found it and
// however it is printed.
package finding

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// Confidence says how sure the finding is.
type Confidence string

// The confidences.
const (
	High Confidence = "high" // the types say so
	Low  Confidence = "low"  // the words look like it
)

// Label says of which kind the file is that a finding is in.
type Label string

// The labels.
const (
	Test      Label = "test"
	Generated Label = "generated"
	Vendored  Label = "vendored"
	NotBuilt  Label = "not-built" // under the build tags and the system that were asked for
	Dependent Label = "dependency"
)

// Finding is one.
type Finding struct {
	Rule       string         `json:"rule"` // "MC101"
	Severity   rules.Severity `json:"severity"`
	Confidence Confidence     `json:"confidence"`
	Place
	Began     int     `json:"-"` // the line before Line on which its expression begins; 0: the same
	EndLine   int     `json:"end_line,omitempty"`
	EndColumn int     `json:"end_column,omitempty"`
	Labels    []Label `json:"labels,omitempty"`

	Package string `json:"package,omitempty"` // its path; of other languages none
	Func    string `json:"func,omitempty"`    // the function around it: "(*Store).Take"

	// Related are other places that belong to it, as the callers of a helper.
	Related []Place `json:"related,omitempty"`
	// Stack is the shortest way to it, from a main or an exported function on.
	Stack []Place `json:"stack,omitempty"`
	// Reach says from where it is reached: "main", "exported", "test", or "none".
	Reach string `json:"reach,omitempty"`
	Fix   *Fix   `json:"fix,omitempty"`
	// Advice is what to do, in one line.
	Advice string `json:"advice,omitempty"`
	// Unfixed says why there is no fix, where one was looked for.
	Unfixed string `json:"unfixed,omitempty"`
	// Scaffold is a beginning of what to write in its place, where no fix is safe.
	Scaffold string `json:"scaffold,omitempty"`

	// Uncounted says that it is only shown: in a test, unless tests count.
	Uncounted bool `json:"uncounted,omitempty"`

	// Fingerprint is the same after lines were shifted: see package baseline.
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

// Fix is a change that keeps what the program does.
type Fix struct {
	Message string `json:"message"`
	Edits   []Edit `json:"edits"`

	// Seen tells by their Sum which files the edits are of, by path.
	Seen map[string]string `json:"-"`
}

// Sum tells a file from others.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// Edit replaces the bytes from Start to End of a file, End excluded.
type Edit struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Suppression says why a finding does not count.
type Suppression struct {
	By     string `json:"by"` // "baseline", "directive"
	Reason string `json:"reason,omitempty"`
}

// Counts reports whether a finding makes a check fail.
func (f *Finding) Counts() bool {
	return f.Suppressed == nil && f.Severity != rules.Note && !f.Uncounted
}

// Sort sorts by place.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int { return Compare(&a, &b) })
}

// Compare is the order by place, and then by rule.
func Compare(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
	)
}
