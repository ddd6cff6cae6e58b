package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// The figures of act C are those of docs/results/performance.md.
func TestFiguresAreMeasured(t *testing.T) {
	page, err := os.ReadFile("../../docs/results/performance.md")
	require.NoError(t, err)
	for scenario, figure := range map[string]string{"d-unc1": timesAlone, "d-hot64": timesHot} {
		_, table, _ := strings.Cut(string(page), "\n### "+scenario+":")
		table, _, _ = strings.Cut(table, "\n### ")
		assert.Regexp(t, `(?m)^\| unwatch \| [^|]* \| [^|]* \| `+regexp.QuoteMeta(figure)+` \|`, table)
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

// The work of all acts is counted, since its time depends on the machine and on what runs beside it:
// 7.5 GB in 31 million objects, and 85 garbage collections, were 12 seconds of CPU.
func TestLongWorkOfARehearsal(t *testing.T) {
	const allocated, work = "\nallocated: ", "%d MB in %d objects, %d collections"
	if os.Getenv(playAsProgram) != "" {
		code := mainCode(nil)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Printf(allocated+work+"\n", m.TotalAlloc/1e6, m.Mallocs, m.NumGC)
		os.Exit(code)
	}
	long.Only(t)
	if underRace {
		t.Skip("the race detector multiplies the work")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLongWorkOfARehearsal$") //nolint:gosec // this program
	cmd.Env = append(os.Environ(), playAsProgram+"=1", "GOGC=100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), out.String())
	_, counted, _ := strings.Cut(out.String(), allocated)
	var megabytes, objects, collections int
	_, err := fmt.Sscanf(counted, work, &megabytes, &objects, &collections)
	require.NoError(t, err, out.String())
	t.Logf("%d MB in %d objects, %d collections", megabytes, objects, collections)
	assert.Less(t, megabytes, 10_000)
	assert.Less(t, objects, 45_000_000)
	assert.Less(t, collections, 150)
}
