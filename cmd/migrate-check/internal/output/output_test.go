package output_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/output"
	"github.com/unwatch/unwatch/internal/rules"
)

func report() *finding.Report {
	at := func(line int, message string) finding.Place {
		return finding.Place{Path: "store/store.go", Line: line, Column: 3, Message: message}
	}
	r := &finding.Report{Findings: []finding.Finding{
		{
			Rule: "MC101", Severity: rules.Error, Confidence: finding.High, Advice: "change the key by store.Update",
			Place:   at(7, "WATCH through (*redis.Client).Watch; the proxy refuses it (MC101)"),
			Related: []finding.Place{at(20, "called from"), at(30, "called from")}, Reach: "main",
			Stack: []finding.Place{
				at(1, "main.main"), at(1, "main.run"), at(2, "a.A"), at(3, "b.B"), at(4, "c.C"), at(5, "d.D"), at(6, "e.E"),
			},
		},
		{
			Rule: "MC101", Severity: rules.Error, Confidence: finding.High, Advice: "change the key by store.Update", Reach: "none",
			Place:  at(9, "WATCH through (*redis.Client).Watch; the proxy refuses it (MC101)"),
			Change: &finding.Change{Class: "one string", Advice: "call store.Update", After: "store.Update(…)"},
		},
		{
			Rule: "MC902", Severity: rules.Warning, Confidence: finding.Low, Labels: []finding.Label{finding.Test}, Uncounted: true,
			Place: at(11, "100%: watch\nor, not (MC902)"),
		},
		{Rule: "MC202", Severity: rules.Error, Place: at(12, "hidden (MC202)"), Suppressed: &finding.Suppression{By: "baseline"}},
	}}
	r.Summary.Packages = 3
	r.Summary.Baseline = &finding.Burndown{Recorded: 57, Left: 41, Stale: make([]string, 16)}
	r.Summary.Unseen = []finding.Unseen{{Path: "old.go", Reason: "not built", Scanned: true}, {Path: "m/p", Reason: "undefined: x"}}
	r.Count()
	return r
}

func written(t *testing.T, format string, r *finding.Report, o output.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, output.Write(&b, format, r, o))
	return b.String()
}

func TestText(t *testing.T) {
	text := written(t, "text", report(), output.Options{Terminal: true})
	assert.Equal(t, `store/store.go:7:3: WATCH through (*redis.Client).Watch; the proxy refuses it
    (MC101)
    reached from: main.main → main.run → … → c.C → d.D → e.E
    called from: store/store.go:20, store/store.go:30
    advice: change the key by store.Update
store/store.go:9:3: WATCH through (*redis.Client).Watch; the proxy refuses it
    (MC101)
    not reached from any main, test or exported function
    advice: call store.Update
store/store.go:11:3: 100%: watch or, not (MC902) [test, by its words only]
2 findings (2 MC101) in 3 packages; 2 not counted (notes, tests, or ignored)
1 reached from a main, 1 not reached
baseline 57 → 41 [#####...............]; 16 gone: -write-baseline records the
  rest
looked at by its words only: old.go: not built
not looked at in full: m/p: undefined: x
`, text)
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(line)), 81, line)
	}
	assert.NotContains(t, text, "\x1b")
	coloured := written(t, "text", report(), output.Options{Terminal: true, Colour: true, Shown: func(path string) string { return "../" + path }})
	assert.Contains(t, coloured, "\x1b[1m../store/store.go:7:3: \x1b[0m\x1b[31mWATCH")
	assert.Equal(t, strings.Count(coloured, "\x1b[0m"), 2*3)
	traced := written(t, "text", report(), output.Options{Traces: true})
	assert.Contains(t, traced, "c.C (store/store.go:4)")
	assert.Equal(t, "0 findings in 0 packages\n", written(t, "text", &finding.Report{}, output.Options{}))
}

// Off a terminal each finding is one line, as of go vet. Traces adds the details.
func TestTextOffATerminal(t *testing.T) {
	text := written(t, "text", report(), output.Options{})
	assert.Equal(t, `store/store.go:7:3: WATCH through (*redis.Client).Watch; the proxy refuses it (MC101)
store/store.go:9:3: WATCH through (*redis.Client).Watch; the proxy refuses it (MC101)
store/store.go:11:3: 100%: watch or, not (MC902) [test, by its words only]
2 findings (2 MC101) in 3 packages; 2 not counted (notes, tests, or ignored)
1 reached from a main, 1 not reached
baseline 57 → 41 [#####...............]; 16 gone: -write-baseline records the rest
looked at by its words only: old.go: not built
not looked at in full: m/p: undefined: x
`, text)
	traced := written(t, "text", report(), output.Options{Traces: true})
	assert.Contains(t, traced, "    advice: call store.Update\n    after: store.Update(…)\n")
}

// The summary says in which order to work: lost updates of today, then by severity, then by number.
func TestOrderOfWork(t *testing.T) {
	r := &finding.Report{}
	for i, rule := range []string{"MC202", "MC101", "MC101", "MC102", "MC402", "MC104", "MC101"} {
		severity := rules.SeverityOf(rule)
		r.Findings = append(r.Findings, finding.Finding{
			Rule: rule, Severity: severity, Func: "f", Place: finding.Place{Path: []string{"a.go", "b.go"}[i%2]},
		})
	}
	r.Count()
	assert.Contains(t, written(t, "text", r, output.Options{}), "\nfirst 1 × a WATCH that protects nothing in 1 function (MC104), "+
		"then 1 × a pipeline within MULTI and EXEC in 1 function (MC102), "+
		"then 3 × WATCH through a method of a client in 2 functions (MC101), then 1 × a publication in 1 function (MC202), "+
		"then 1 × several keys that are not proven to share a slot in 1 function (MC402)\n")
}

// An interrupted check does not say that nothing was found.
func TestTextOfAnInterruptedCheck(t *testing.T) {
	r := &finding.Report{}
	r.Summary.Interrupted = true
	r.Summary.Unseen = []finding.Unseen{{Path: "files of other languages", Reason: "interrupted"}}
	assert.Equal(t, "interrupted before the end; so far 0 findings in 0 packages\nnot looked at in full: files of other languages: interrupted\n",
		written(t, "text", r, output.Options{}))
}

// Code that is left out is named, in a line for each reason.
func TestTextOfLeftOutCode(t *testing.T) {
	r := &finding.Report{}
	for _, name := range []string{"a/node_modules", "b/vendor", "c/vendor", "d/vendor"} {
		r.Summary.Passed = append(r.Summary.Passed, finding.Unseen{Path: name, Reason: "dependencies"})
	}
	r.Summary.Passed = append(r.Summary.Passed, finding.Unseen{Path: "web/app.min.js", Reason: "minified"})
	assert.Equal(t, "0 findings in 0 packages\nleft out: a/node_modules, b/vendor, c/vendor, and 1 more: dependencies\n"+
		"left out: web/app.min.js: minified\n", written(t, "text", r, output.Options{}))
}

func TestJSON(t *testing.T) {
	text := written(t, "json", report(), output.Options{})
	var last map[string]any
	n := 0
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); n++ {
		last = nil
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &last))
		if n == 0 {
			for _, key := range []string{"rule", "severity", "path", "line", "column", "message", "related", "stack"} {
				assert.Contains(t, last, key)
			}
		}
	}
	assert.Equal(t, 5, n)
	require.Len(t, last, 1)
	sum := last["summary"].(map[string]any)
	assert.EqualValues(t, 2, sum["findings"])
	assert.Len(t, sum["unseen"], 2)
	assert.Contains(t, written(t, "json", &finding.Report{}, output.Options{}), `"unseen":null`)
}

func TestGitHub(t *testing.T) {
	text := written(t, "github", report(), output.Options{})
	assert.Contains(t, text, "::error file=store/store.go,line=7,col=3,title=migrate-check MC101::WATCH through (*redis.Client).Watch;")
	assert.Contains(t, text, "::notice file=store/store.go,line=11,col=3,title=migrate-check MC902::100%25: watch%0Aor, not (MC902)\n")
	assert.NotContains(t, text, "hidden")
	r := &finding.Report{}
	for _, severity := range rules.Severities() {
		r.Findings = append(r.Findings, finding.Finding{Rule: "MC402", Severity: severity, Place: finding.Place{Path: "a.go", Line: 1}})
	}
	var levels []string
	below := output.Options{Repository: func(path string) string { return "sub/" + path }}
	for line := range strings.Lines(written(t, "github", r, below)) {
		if level, rest, ok := strings.Cut(strings.TrimPrefix(line, "::"), " "); ok && strings.HasPrefix(rest, "file=sub/a.go,") {
			levels = append(levels, level)
		}
	}
	assert.Equal(t, []string{"error", "error", "warning", "notice"}, levels, "of critical, error, warning, note")
	assert.Contains(t, text, "::warning title=migrate-check::old.go could not be looked at")
}
