package output_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/output"
	"github.com/unwatch/unwatch/internal/rules"
)

// everything has all that a finding can have.
func everything() *finding.Report {
	place := finding.Place{Path: "a dir/ä.go", Line: 3, Column: 2, Message: "WATCH (MC101)"}
	r := &finding.Report{Root: "/home/me/my service", Findings: []finding.Finding{
		{
			Rule: "MC101", Severity: rules.Critical, Confidence: finding.High, Place: place, EndLine: 4, EndColumn: 1,
			Labels: []finding.Label{finding.Test}, Related: []finding.Place{place}, Stack: []finding.Place{place},
			Change:      &finding.Change{Class: "one string", Watched: []string{"k"}, Advice: "do", After: "store.Update(…)"},
			Fingerprint: "0123", Suppressed: &finding.Suppression{By: "directive", Reason: "known"}, Advice: "do",
		},
		{
			Rule: "MC902", Severity: rules.Note, Confidence: finding.Low, Place: finding.Place{Path: "/else/b.go", Message: "x"},
			Suppressed: &finding.Suppression{By: "baseline"},
		},
	}}
	r.Summary.Unseen = []finding.Unseen{{Path: "c.go", Reason: "not built"}}
	r.Summary.Exit = 1
	r.Count()
	return r
}

// The logs in testdata are held against the schema of SARIF by the module integration. Of the
// rules everything.sarif has one for each level, of which one is off; nothing.sarif has none. They have no pages.
// UNWATCH_UPDATE_GOLDEN=1 writes them.
func TestSARIFLogs(t *testing.T) {
	for name, r := range map[string]*finding.Report{"everything": everything(), "nothing": {}} {
		var log struct {
			Schema  string           `json:"$schema"`
			Runs    []map[string]any `json:"runs"`
			Version string           `json:"version"`
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(written(t, "sarif", r, output.Options{}))))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&log))
		driver := log.Runs[0]["tool"].(map[string]any)["driver"].(map[string]any)
		driver["rules"] = slices.DeleteFunc(driver["rules"].([]any), func(rule any) bool {
			rule.(map[string]any)["help"] = map[string]any{"text": "page", "markdown": "page"}
			return name == "nothing" || !slices.Contains([]any{"MC101", "MC403", "MC902"}, rule.(map[string]any)["id"])
		})
		got, err := json.MarshalIndent(log, "", " ")
		require.NoError(t, err)
		got = append(got, '\n')
		file := "testdata/" + name + ".sarif"
		if os.Getenv("UNWATCH_UPDATE_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(file, got, 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	}
}

// SARIF counts columns in UTF-16 units, and paths from the root of the repository. The log has no path of the machine.
func TestSARIFLocations(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/a.go", []byte("package a\n/* 茶😀 */ call()\n"), 0o600))
	f := finding.Finding{Rule: "MC102", Severity: rules.Critical, EndLine: 2, EndColumn: 21, Place: finding.Place{Path: "a.go", Line: 2, Column: 15}}
	log := written(t, "sarif", &finding.Report{Root: dir, Findings: []finding.Finding{f}}, output.Options{
		Version: "v1.2.3", Repository: func(path string) string { return "sub/" + path },
	})
	assert.NotContains(t, log, dir)
	for _, want := range []string{
		`"startColumn": 11`, `"endColumn": 17`, `"uri": "sub/a.go"`, `"version": "v1.2.3"`, `"ruleIndex": 2`,
	} {
		assert.Contains(t, log, want)
	}
}
