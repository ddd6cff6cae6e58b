package output_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/output"
	"github.com/unwatch/unwatch/internal/rules"
)

// FuzzNames prints a report in which each name and each text from the code is hostile.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"store.go", "nl\n::error::pwn.py", "::error::pwn.py", "a b ::error::c ::d", "\x1b[31mEVIL\x1b]0;t\x07",
		"x ##[error]y", "##vso[task.complete]", "\u202ecod.exe", "\u009b2J", "a\r::x", "\xff\x00", "　::notice::茶", "\u2028",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r := named(name)
		for _, format := range output.Formats() {
			text := written(t, format, r, output.Options{Traces: true})
			own := 0
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				for _, c := range line {
					if !unicode.IsGraphic(c) {
						t.Fatalf("%s: %U in %q", format, c, line)
					}
				}
				switch {
				case format == "github" && strings.HasPrefix(line, "::"):
					own++
				case strings.HasPrefix(strings.TrimSpace(line), "::"), strings.Contains(line, "##["):
					t.Fatalf("%s: a command to the CI runner: %q", format, line)
				}
			}
			if format == "github" {
				assert.Equal(t, 2, own, "one annotation for the finding, one for what was not seen")
			}
		}
		aligned(t, written(t, "text", r, output.Options{Terminal: true}))

		if utf8.ValidString(name) { // JSON has no other text
			var first struct{ Path string }
			line, _, _ := strings.Cut(written(t, "json", r, output.Options{}), "\n")
			require.NoError(t, json.Unmarshal([]byte(line), &first))
			assert.Equal(t, name, first.Path, "programs get the name as it is")
		}
	})
}

// named is a report with one finding, in which everything has a name.
func named(name string) *finding.Report {
	at := finding.Place{Path: name, Line: 7, Column: 3, Message: name}
	r := &finding.Report{Findings: []finding.Finding{{
		Rule: "MC404", Severity: rules.Error, Confidence: finding.High, Place: at, Package: name, Func: name,
		Related: []finding.Place{at}, Stack: []finding.Place{at}, Reach: "main",
		Change: &finding.Change{Class: name, Watched: []string{name}, Advice: name, Before: name, After: name, TTL: name},
	}}}
	r.Summary.Unseen = []finding.Unseen{{Path: name, Reason: name}}
	r.Summary.Modules = []finding.Unseen{{Path: name, Reason: name}}
	r.Count()
	return r
}

var heads = regexp.MustCompile(`^(?:.*:7:3: |1 finding|1 reached|not looked at in full: |not asked for: )`)

// aligned checks the layout: what is not the head of a paragraph is indented, and a line is
// longer than its width only if one name is.
func aligned(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if !strings.HasPrefix(line, " ") {
			assert.Regexp(t, heads, line)
		}
		if long := len([]rune(line)) > 80; long && !strings.Contains(line, ":7") {
			assert.LessOrEqual(t, len(strings.Fields(line)), 6, line)
		}
	}
}
