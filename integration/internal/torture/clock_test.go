package torture

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// Negative control of the nemesis: if the clock does not step, the cell fails.
func TestClockThatDoesNotStep(t *testing.T) {
	err := stepClock(t.Context(), rand.New(rand.NewPCG(1, 1)), func(int64) {}, func(string) {})
	require.Error(t, err)
	assert.Regexp(t, `a wall clock stepped by \S+ instead of -?1h0m0s`, err.Error())
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
