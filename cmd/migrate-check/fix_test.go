package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/testing/long"
)

// legacyModule is a copy of the legacy service that can be written to: a module of its own
// that has all else from this tree.
func legacyModule(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples/legacy-service"))))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(mod), "\n") // all but its name
	text := fmt.Sprintf("module example.com/legacy\n%s\nrequire %[2]s v0.0.0\n\nreplace %[2]s => %[3]s\n",
		rest, "github.com/unwatch/unwatch", strconv.Quote(root))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=mod") // go.mod asks for more than the service needs
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
	return dir
}

// findings reads a report in JSON, line by line.
func findings(t *testing.T, report string) (all []finding.Finding) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(report)); ; {
		var f finding.Finding
		err := d.Decode(&f)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		if f.Rule != "" { // the last line is the summary
			all = append(all, f)
		}
	}
}

// In a service as it is, the fixes go where they are safe: what -diff shows is what -fix
// writes; after it the rest is found as before, each WATCH and MULTI of it with the reason
// why there is no fix; and the service is as good as it was.
func TestLongFixOfTheLegacyService(t *testing.T) {
	long.Only(t)
	dir := legacyModule(t)
	read := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "queues.go"))
		require.NoError(t, err)
		return string(text)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	old := read()

	r := try(t.Context(), "-C", dir, "-diff", "-format", "json", "-o", report, "./...")
	require.Equal(t, codeFindings, r.code, r)
	require.Equal(t, old, read(), "-diff only shows")
	diff := r.stdout
	for _, line := range []string{
		"-\terr = s.rdb.Watch(ctx, func(tx *redis.Tx) error {\n",
		"+\t\tn, err := s.rdb.ZCard(ctx, key).Result()\n",
		"+\terr := s.rdb.ZRem(ctx, queueKey(name), id).Err()\n",
	} {
		assert.Contains(t, diff, line)
	}
	raw, err := os.ReadFile(report)
	require.NoError(t, err)
	fixed, kept := map[string]string{}, []string(nil)
	for _, f := range findings(t, string(raw)) {
		if f.Fix != nil {
			fixed[f.Rule+" "+f.Func] = f.Fix.Message
			continue
		}
		if f.Rule == "MC104" { // of the WATCH that goes away
			assert.Equal(t, "(*queues).waiting", f.Func)
			continue
		}
		kept = append(kept, f.Rule+" "+f.Fingerprint)
	}
	assert.Equal(t, map[string]string{
		"MC101 (*queues).waiting": "Read without a WATCH, which protects nothing here",
		"MC102 (*queues).remove":  "Send the one command without MULTI and EXEC",
	}, fixed)

	r = try(t.Context(), "-C", dir, "-fix", "-format", "json", "./...")
	require.Equal(t, codeFindings, r.code, r)
	assert.Equal(t, "migrate-check: fixed 2 of 2 findings that can be, in 1 file\n", r.stderr)
	apply := exec.CommandContext(t.Context(), "git", "apply", "-R", "--check", "-")
	apply.Dir, apply.Stdin = dir, bytes.NewReader([]byte(diff))
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "what is written is not what was shown: %s", out)

	var left, reasons []string
	for _, f := range findings(t, r.stdout) {
		left = append(left, f.Rule+" "+f.Fingerprint)
		assert.Nil(t, f.Fix, f.Func)
		if strings.HasPrefix(f.Rule, "MC1") {
			reasons = append(reasons, f.Func+": "+f.Unfixed)
		}
	}
	assert.Equal(t, kept, left)
	assert.ElementsMatch(t, []string{
		"(*sessions).assign: it belongs to a Watch: see there",
		"(*sessions).transfer: it watches one more key on the way, and an Update is of one",
		"(*sessions).transfer: it belongs to a Watch: see there",
		"(*sessions).close: it watches one more key on the way, and an Update is of one",
		"(*sessions).close: it belongs to a Watch: see there",
		"(*rooms).create: it belongs to a Watch: see there",
		"(*sessions).open: there are 4 uses of the pipeline, and one command is rewritten",
		"watchUpdate: it belongs to a Watch: see there",
		"watch: the function in fn is not written here",
	}, reasons)

	for _, args := range [][]string{{"vet", "."}, {"test", "-vet=off", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s\n%s", args[0], out)
	}
}
