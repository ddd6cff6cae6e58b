package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// The figures of act C are those of docs/performance.md.
func TestFiguresAreMeasured(t *testing.T) {
	page, err := os.ReadFile("../../docs/performance.md")
	require.NoError(t, err)
	for row, figure := range map[string]string{"1 goroutine, +1 ms": timesAlone, "hot key, 1x64, +1 ms": timesHot} {
		assert.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`: over WATCH \| [^|]* \| `+regexp.QuoteMeta(figure)+`x [|(]`, string(page))
	}
}

// Each next step names files and packages of this module that exist.
func TestNextStepsExist(t *testing.T) {
	for _, step := range steps() {
		found := 0
		for word := range strings.FieldsSeq(step[1]) {
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "github.com/unwatch/unwatch/"), "@")
			if !strings.Contains(name, "/") || strings.Contains(name, "://") || name == "./..." {
				continue
			}
			found++
			assert.FileExists(t, existing(filepath.Join("../..", name)), step[1])
		}
		assert.NotZero(t, found, step[1])
	}
}

// existing returns a file of a folder, or the name itself.
func existing(name string) string {
	if files, _ := filepath.Glob(filepath.Join(name, "*.go")); len(files) > 0 {
		return files[0]
	}
	return name
}

// playAsProgram makes the test binary the program.
const playAsProgram = "UNWATCH_TEST_REHEARSAL"

// All of the rehearsal is less than 20 seconds of work, whatever else the machine does.
func TestLongWorkOfARehearsal(t *testing.T) {
	if os.Getenv(playAsProgram) != "" {
		os.Exit(mainCode([]string{"-report", "-"}))
	}
	long.Only(t)
	if underRace {
		t.Skip("the race detector multiplies the work")
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLongWorkOfARehearsal$") //nolint:gosec // this program
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), playAsProgram+"=1"), &out, &out
	require.NoError(t, cmd.Run(), out.String())
	work := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("the work is %v", work)
	assert.Less(t, work, 20*time.Second)
}
