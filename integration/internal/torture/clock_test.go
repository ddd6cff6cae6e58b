package torture

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// Negative control of the nemesis: if the clock does not step, the cell fails.
func TestClockThatDoesNotStep(t *testing.T) {
	t.Setenv(stillEnv, "1")
	n, err := nemesisOf("clock")
	require.NoError(t, err)
	r := Cell(t.Context(), started(t), n, time.Second, 1)
	assert.True(t, r.Bad())
	if assert.NotEmpty(t, r.Errors) {
		assert.Regexp(t, `a wall clock stepped by \S+ instead of -?1h0m0s`, r.Errors[0])
	}
}

// stillEnv keeps the clocks of child processes from stepping.
const stillEnv = "UNWATCH_TORTURE_STILL"

// KeepClock is for the start of a child process.
func KeepClock() {
	if os.Getenv(stillEnv) != "" {
		stepWall = func(int64) {}
	}
}

func TestClockThatCannotStep(t *testing.T) {
	defer func(was func(int64)) { stepWall = was }(stepWall)
	stepWall = nil
	servers.Redis(t)
	report, err := Run(t.Context(), Config{Duration: 1, Seed: 1, Only: "redis/clock", Dir: t.TempDir()})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, report.Table(&text))
	assert.Contains(t, text.String(), "SKIPPED redis/clock: a wall clock steps on linux/amd64 only")
	assert.Empty(t, report.Results)
}

// Child processes get names only.
func TestUnknownNames(t *testing.T) {
	_, err := variantOf("flood")
	assert.EqualError(t, err, `unknown control "flood"`)
	_, err = nemesisOf("flood")
	assert.EqualError(t, err, `unknown nemesis "flood"`)
}
