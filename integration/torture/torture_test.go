package torture_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/integration/torture"
	"github.com/unwatch/unwatch/internal/servers"
)

func TestMain(m *testing.M) {
	if was, err := torture.Child(); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// One cell for each kind of harm; make torture plays them all.
func TestTorture(t *testing.T) {
	servers.Redis(t) // skips, or fails, where there is none
	for _, only := range []string{"redis/cut", "redis/stall", "redis/process-kill"} {
		report, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Seed: 1, Only: only, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Len(t, report.Results, 1)
		assert.False(t, report.Bad(), "%+v", report.Results[0].Verdict)
		assert.Positive(t, report.Results[0].Acknowledged)
	}
}

func TestNoSuchCell(t *testing.T) {
	_, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Only: "redis/flood"})
	assert.EqualError(t, err, `no cell has "redis/flood" in its name; see -list`)
}
