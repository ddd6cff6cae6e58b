// Package sarif holds what migrate-check prints for code scanning against the schema of
// SARIF 2.1.0, which is OASIS'.
package sarif

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/output"
)

func valid(t *testing.T, log []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-schema-2.1.0.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	require.NoError(t, err)
	return schema.Validate(doc)
}

func logOf(t *testing.T, r *finding.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, output.Write(&b, "sarif", r, output.Options{}))
	return b.Bytes()
}

// everything has all that a finding can have.
func everything() *finding.Report {
	place := finding.Place{Path: "a dir/ä.go", Line: 3, Column: 2, Message: "WATCH (MC101)"}
	r := &finding.Report{Root: "/home/me/my service", Findings: []finding.Finding{
		{
			Rule: "MC101", Severity: finding.Critical, Confidence: finding.High, Place: place, EndLine: 4, EndColumn: 1,
			Labels: []finding.Label{finding.Test}, Related: []finding.Place{place}, Stack: []finding.Place{place, place},
			Fix: &finding.Fix{Message: "do", Edits: []finding.Edit{
				{Path: "a.go", Start: 1, End: 2, Text: "x"}, {Path: "a.go", Start: 5, End: 7},
			}},
			Fingerprint: "0123", Suppressed: &finding.Suppression{By: "directive", Reason: "known"}, Advice: "do",
		},
		{Rule: "MC902", Severity: finding.Warning, Confidence: finding.Low, Place: finding.Place{Path: "/else/b.go", Message: "x"}},
		{Rule: "MC403", Severity: finding.Note, Place: place, Suppressed: &finding.Suppression{By: "baseline"}},
	}}
	r.Summary.Unseen = []finding.Unseen{{Path: "c.go", Reason: "not built"}}
	r.Summary.Exit = 1
	r.Count()
	return r
}

func TestSchema(t *testing.T) {
	assert.NoError(t, valid(t, logOf(t, everything())))
	empty := logOf(t, &finding.Report{})
	assert.NoError(t, valid(t, empty))
	assert.Contains(t, string(empty), `"results": []`)
}

// The schema is looked at: a log that breaks it is refused.
func TestSchemaRefuses(t *testing.T) {
	log := string(logOf(t, everything()))
	for was, is := range map[string]string{
		`"version": "2.1.0"`:    `"version": "2.2.0"`,
		`"level": "error"`:      `"level": "critical"`,
		`"startLine": 3`:        `"startLine": 0`,
		`"kind": "external"`:    `"kind": "baseline"`,
		`"threadFlows"`:         `"flows"`,
		`"deletedRegion"`:       `"region"`,
		`"uriBaseId"`:           `"base"`,
		`"executionSuccessful"`: `"ok"`,
	} {
		require.Contains(t, log, was)
		assert.Error(t, valid(t, []byte(strings.Replace(log, was, is, 1))), is)
	}
}
