// Package sarif holds what migrate-check prints for code scanning against the schema of
// SARIF 2.1.0, which is OASIS'.
package sarif

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func valid(t *testing.T, log []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-schema-2.1.0.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	require.NoError(t, err)
	return schema.Validate(doc)
}

// logOf is a log that the tests of package output hold against what is printed.
func logOf(t *testing.T, name string) []byte {
	t.Helper()
	log, err := os.ReadFile("../../cmd/migrate-check/internal/output/testdata/" + name + ".sarif")
	require.NoError(t, err)
	return log
}

func TestSchema(t *testing.T) {
	assert.NoError(t, valid(t, logOf(t, "everything")))
	empty := logOf(t, "nothing")
	assert.NoError(t, valid(t, empty))
	assert.Contains(t, string(empty), `"results": []`)
}

// The schema is looked at: a log that breaks it is refused.
func TestSchemaRefuses(t *testing.T) {
	log := string(logOf(t, "everything"))
	for was, is := range map[string]string{
		`"version": "2.1.0"`:    `"version": "2.2.0"`,
		`"level": "error"`:      `"level": "critical"`,
		`"startLine": 3`:        `"startLine": 0`,
		`"kind": "external"`:    `"kind": "baseline"`,
		`"threadFlows"`:         `"flows"`,
		`"uriBaseId"`:           `"base"`,
		`"executionSuccessful"`: `"ok"`,
	} {
		require.Contains(t, log, was)
		assert.Error(t, valid(t, []byte(strings.Replace(log, was, is, 1))), is)
	}
}
