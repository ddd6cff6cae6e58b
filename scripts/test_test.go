package scripts_test

import (
	"fmt"
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
*/tools) exec %s "$@" ;;
bad)
	printf '%%s\n' '{"Action":"output","Package":"example/bad","Test":"TestBad","Output":"--- FAIL: TestBad (0.01s)\n"}'
	printf '%%s\n' '{"Action":"fail","Package":"example/bad","Test":"TestBad","Elapsed":0.01}'
	printf '%%s\n' '{"Action":"output","Package":"example/bad","Output":"FAIL\texample/bad\t0.02s\n"}'
	printf '%%s\n' '{"Action":"fail","Package":"example/bad","Elapsed":0.02}'
	exit 1 ;;
unresolved) echo "go: no such module" >&2; exit 1 ;;
*)
	printf '%%s\n' '{"Action":"output","Package":"example/good","Test":"TestSlow","Output":"a line of a passed test\n"}'
	printf '%%s\n' '{"Action":"pass","Package":"example/good","Test":"TestSlow","Elapsed":7.5}'
	printf '%%s\n' '{"Action":"output","Package":"example/good","Output":"ok  \texample/good\t0.01s\n"}'
	printf '%%s\n' '{"Action":"pass","Package":"example/good","Elapsed":7.6}' ;;
esac
`

func TestFailingModuleDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	goCommand, err := exec.LookPath("go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, fakeGo, goCommand), 0o755)) //nolint:gosec // a program
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
	assert.Contains(t, out, "Slowest tests, in seconds:\n7.50 TestSlow example/good\n")
	assert.NotContains(t, out, "a line of a passed test")
	assert.NotContains(t, out, "Failures")
}

// A commit subject is "package: verb …", short and without a full stop.
func TestSubjects(t *testing.T) {
	t.Parallel()
	check := func(subjects ...string) (string, bool) {
		cmd := exec.CommandContext(t.Context(), "awk", "-f", "subjects.awk")
		cmd.Stdin = strings.NewReader(strings.Join(subjects, "\n") + "\n")
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	out, ok := check("lockupdate: release off the caller's path", "cmd/migrate-check, tools: honour -profile")
	assert.True(t, ok, out)
	assert.Equal(t, "checked 2 commit subjects\n", out)
	for subject, problem := range map[string]string{
		"cutover: the keys that were left behind are moved":                          "has no verb in lower case",
		"lock: what came late is told":                                               "has no verb in lower case",
		"docs: 1,300 words and a glossary":                                           "has no verb in lower case",
		"torture: Retry controls":                                                    "has no verb in lower case",
		"Give a busy machine 3 s for an answer":                                      "does not begin with the package",
		"shadow: name the mutants.":                                                  "ends with a full stop",
		"integration/torture: retry each negative control up to 20 times, then stop": "longer than 60",
	} {
		out, ok := check(subject)
		assert.False(t, ok, subject)
		assert.Contains(t, out, problem, subject)
	}
}
