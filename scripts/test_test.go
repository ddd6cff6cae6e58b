package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fake go command whose tests fail in one module, and whose build fails in another.
const fakeGo = `#!/bin/sh
case $2 in
bad) echo "--- FAIL: TestBad (0.01s)"; echo "FAIL	example/bad	0.02s"; exit 1 ;;
unresolved) echo "go: no such module" >&2; exit 1 ;;
*) echo "ok  	example/$2	0.01s" ;;
esac
`

func TestFailingModuleDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(fakeGo), 0o755)) //nolint:gosec // a program
	run := func(modules ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), "./test.sh", modules...)
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("bad", "unresolved", "good")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "ok  	example/good")
	_, failures, _ := strings.Cut(out, "\nFailures:\n")
	assert.Equal(t, "--- FAIL: TestBad (0.01s)\nFAIL\texample/bad\t0.02s\nFAIL\tmodule bad\nFAIL\tmodule unresolved\n", failures)

	out, code = run("good")
	assert.Zero(t, code)
	assert.NotContains(t, out, "Failures")
}
