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
	assert.Contains(t, string(got), "\tsec, nsec, mono := runtimeNow()\n\tsec += wallStep.Load()\n")
	text := string(source)
	for name, test := range map[string]struct{ source, want string }{
		"none":      {strings.ReplaceAll(text, readsClocks, ""), "0 times, not once"},
		"two":       {strings.ReplaceAll(text, readsClocks, readsClocks+readsClocks), "2 times, not once"},
		"elsewhere": {"\nfunc Now() Time {\n}\n\nfunc now() Time {\n" + readsClocks + "}\n", "not read the clocks in time.Now"},
		"no Now":    {"\nfunc now() Time {\n" + readsClocks + "}\n", "not read the clocks in time.Now"},
	} {
		_, err := withStep([]byte(test.source))
		assert.ErrorContains(t, err, test.want, name)
	}
}

func TestStepIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		step stepped
		want string
	}{
		"forward":              {stepped{step, step + time.Second, time.Second}, ""},
		"back":                 {stepped{-step, time.Second - step, time.Second}, ""},
		"not at all":           {stepped{step, time.Second, time.Second}, "a wall clock stepped by 0s instead of 1h0m0s"},
		"the other way":        {stepped{step, -step, 0}, "a wall clock stepped by -1h0m0s instead of 1h0m0s"},
		"monotonic as well":    {stepped{step, 2 * step, step}, "the monotonic clock has stepped by 1h0m0s"},
		"monotonic, backwards": {stepped{-step, -2 * step, -step}, "the monotonic clock has stepped by -1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &children{}
			require.EqualError(t, c.allStepped(), "no clock has stepped")
			c.hasStepped(test.step)
			if err := c.allStepped(); test.want == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, test.want)
			}
		})
	}
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

// Every nemesis and control runs somewhere, and is found by its name, since child processes get the name
// only.
func TestEveryNemesisAndControlRuns(t *testing.T) {
	played := map[string]bool{}
	for _, cells := range plan("") {
		for _, p := range cells {
			played[p.nemesis.Name] = true
			if p.control != nil {
				v, err := variantOf(p.control.Name)
				require.NoError(t, err)
				assert.Equal(t, p.control.Name, v.control)
			}
		}
	}
	for _, n := range Nemeses() {
		assert.True(t, played[n.Name], n.Name)
	}
	_, err := variantOf("flood")
	assert.EqualError(t, err, `unknown control "flood"`)
	_, err = nemesisOf("flood")
	assert.EqualError(t, err, `unknown nemesis "flood"`)
}
