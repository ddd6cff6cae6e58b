package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

func TestWithStep(t *testing.T) {
	root, err := goTool(t.Context(), "env", "GOROOT")
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "src", "time", "time.go"))
	require.NoError(t, err)
	got, err := withStep(source)
	require.NoError(t, err, "this Go's time.Now is another one")
	_, err = withStep(got[:len(got)/100])
	assert.ErrorContains(t, err, "0 times, not once")
}

// Negative control of the nemesis: the clock of a normal program does not step.
func TestClockThatDoesNotStep(t *testing.T) {
	n, err := nemesisOf("clock")
	require.NoError(t, err)
	r := Cell(t.Context(), started(t), n, time.Second, 1)
	assert.True(t, r.Bad())
	if assert.NotEmpty(t, r.Errors) {
		assert.Regexp(t, `a wall clock stepped by \S+ instead of -?1h0m0s`, r.Errors[0])
	}
}

func TestClockNeedsTheGoTool(t *testing.T) {
	servers.Redis(t)
	dir := t.TempDir()
	file, err := exec.LookPath("redis-server")
	if err == nil { // otherwise it was found in a system directory
		require.NoError(t, os.Symlink(file, filepath.Join(dir, "redis-server")))
	}
	t.Setenv("PATH", dir)
	t.Setenv("CI", "")
	t.Setenv(servers.RequireEnv, "")
	cfg := Config{Duration: time.Second, Seed: 1, Only: "redis/clock", Dir: dir}
	report, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, report.Table(&text))
	assert.Contains(t, text.String(), "SKIPPED redis/clock: go env: ")
	assert.Empty(t, report.Results)

	t.Setenv(servers.RequireEnv, "1")
	_, err = Run(t.Context(), cfg)
	assert.ErrorContains(t, err, "redis/clock: go env: ")
}

// Child processes get names only.
func TestUnknownNames(t *testing.T) {
	_, err := variantOf("flood")
	assert.EqualError(t, err, `unknown control "flood"`)
	_, err = nemesisOf("flood")
	assert.EqualError(t, err, `unknown nemesis "flood"`)
}
