package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

const unheard = "line 2 of the script: PUBLISH"

// A script is read from the file that is embedded, and keys are followed into the package
// that makes them.
func TestLongCheckOfAnEmbeddedScript(t *testing.T) {
	long.Only(t)
	r := try(t.Context(), "./testdata/embedded/...")
	assert.Equal(t, codeFindings, r.code, r.stderr)
	assert.Contains(t, r.stdout, unheard)
	assert.Contains(t, r.stdout, "1 finding (1 MC504) in 2 packages")
}

func TestLongVetOfAnEmbeddedScript(t *testing.T) {
	long.Only(t)
	tool := filepath.Join(t.TempDir(), "migrate-check")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), "go", "vet", "-vettool="+tool, "./testdata/embedded").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), unheard)
	assert.NotContains(t, string(out), "MC501", "the facts of the other package say that the keys are together")
}
