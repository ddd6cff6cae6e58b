package torture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A failed cell keeps its history and the log of each server, in a folder that the report names.
func TestFailedCellKeepsTheLogs(t *testing.T) {
	env := started(t)
	r := &Report{Config: Config{Dir: t.TempDir()}}
	r.saveOrDrop(&Result{Topology: "redis", Nemesis: "good", History: newHistory(), Verdict: &Verdict{}}, env)
	assert.Empty(t, r.Kept)
	bad := &Result{Topology: "redis", Nemesis: "bad", History: newHistory(), Verdict: &Verdict{Lost: 1}}
	r.saveOrDrop(bad, env)
	require.Len(t, r.Kept, 1)
	assert.Empty(t, bad.Errors)
	assert.FileExists(t, filepath.Join(r.Kept[0], "history.txt"))
	logs, err := filepath.Glob(filepath.Join(r.Kept[0], "*.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	text, err := os.ReadFile(logs[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), "Ready to accept connections")
}
