package torture_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/integration/internal/torture"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis logs every connection that a nemesis cuts
	if was, err := torture.Child(); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// One cell for each kind of fault, and at least one for each topology; make torture runs all. It excludes
// the cells in which sentinels replace a server, since they take half a minute each, and therefore their
// topology.
func TestLongTorture(t *testing.T) {
	long.Only(t)
	redis := servers.Redis(t) // skips or fails without a redis-server
	played := map[string]bool{}
	for _, only := range []string{
		"redis/cut", "redis/stall", "redis/process-kill", "redis/clock", "redis-memory/kill",
		"nutcracker/slow", "nutcracker-4/cut", "codis/cancel",
		"codis/codis-move", "codis-replicas/none",
		"cluster/cut", "cluster/slot-move", "sentinel/deaf",
		"old>nutcracker/process-kill", "old>cluster/slot-move", "old>codis/codis-late",
	} {
		topology, _, _ := strings.Cut(only, "/")
		played[topology] = true
		t.Run(only, func(t *testing.T) {
			if strings.HasPrefix(topology, "nutcracker") {
				servers.Nutcracker(t, []string{redis.Addr}, 1) // likewise
			}
			report, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Seed: 1, Only: only, Dir: t.TempDir()})
			require.NoError(t, err)
			require.Len(t, report.Results, 1)
			assert.False(t, report.Bad(), "%+v", report.Results[0].Verdict)
			assert.Positive(t, report.Results[0].Acknowledged)
		})
	}
	for _, topology := range torture.Topologies() {
		assert.Equal(t, topology.Name != "sentinel-min", played[topology.Name], topology.Name)
	}
}

func TestNoSuchCell(t *testing.T) {
	_, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Only: "redis/flood"})
	assert.EqualError(t, err, `no cell has "redis/flood" in its name; see -list`)
}

// The lock services keep their promises, and the run notices a lock that does not.
func TestLongLockServices(t *testing.T) {
	long.Only(t)
	servers.Postgres(t) // skips or fails without its program
	servers.ZooKeeper(t, 1)
	for _, only := range []string{"remedy/sql", "remedy/zookeeper", "control/advisory lock", "control/no check"} {
		t.Run(only, func(t *testing.T) {
			report, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Seed: 1, Only: only, Dir: t.TempDir()})
			require.NoError(t, err)
			assert.False(t, report.Bad(), "%+v", report)
			assert.NotZero(t, len(report.Remedies)+len(report.Controls))
		})
	}
}
