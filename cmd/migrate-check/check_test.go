package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckOfTheLegacyService(t *testing.T) {
	r := try(t.Context(), "../../examples/legacy-service/...")
	assert.Equal(t, codeFindings, r.code, r.stderr)
	assert.Empty(t, r.stderr)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	assert.Equal(t, "11 findings (3 MC101, 6 MC102, 1 MC201, 1 MC202) in 5 files", lines[len(lines)-1])
	assert.Regexp(t, `legacy-service/watch\.go:\d+:\d+: WATCH through .*UniversalClient\)\.Watch; the proxy refuses it \(MC101\)`, r.stdout)
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"clean":     {args: []string{"./testdata/tagged", "-tests=false"}, code: codeOK, stdout: "0 findings\n"},
		"in a test": {args: []string{"./testdata/tagged"}, code: codeFindings, stdout: "1 finding (1 MC202) in 1 file\n"},
		"with its tags": {
			args: []string{"-tags", "legacy", "./testdata/tagged", "-tests=false"}, code: codeFindings, stdout: "legacy.go:12:9: WATCH",
		},
		"does not compile": {
			args: []string{"./testdata/broken", "./testdata/tagged"}, code: codeIncomplete,
			stdout: "1 finding (1 MC202) in 1 file; 1 package could not be looked at\n",
			stderr: "testdata/broken could not be looked at: undefined: missing",
		},
		"not there":   {args: []string{"./testdata/none"}, code: codeIncomplete, stderr: "testdata/none"},
		"no packages": {args: []string{"-tags", "a"}, code: codeError, stderr: "PACKAGES is missing"},
		"wrong flag":  {args: []string{"./...", "-tag", "a"}, code: codeError, stderr: "flag provided but not defined"},
		"help":        {args: []string{"./...", "-h"}, code: codeOK, stdout: "Exit codes: 0 nothing found"},
	} {
		t.Run(name, func(t *testing.T) {
			r := try(t.Context(), test.args...)
			assert.Equal(t, test.code, r.code, r)
			assert.Contains(t, r.stdout, test.stdout)
			assert.Contains(t, unwrapped(r.stderr), test.stderr)
			fits(t, r.stderr)
		})
	}
}

// unwrapped is a text in one line.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestCheckEndsWithItsCtx(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := try(ctx, "./testdata/tagged")
	assert.Equal(t, codeIncomplete, r.code)
	assert.Contains(t, r.stderr, "cancel")
}

func TestVetTool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "migrate-check")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), "go", "vet", "-vettool="+tool, "./testdata/tagged").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "PUBLISH through")
}
