package torture

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// fair is a load in which all promises held.
func fair() *measured {
	m := &measured{
		Held: 20, Renewed: 100, Bound: 32, Connections: 32,
		First: atRest{8 << 20, 5}, Last: atRest{8<<20 + 1000, 5},
		Turns: []int64{90, 100, 80, 110}, Between: peaked{376, 9}, Served: [][]int64{{90, 100, 110}, {50, 45, 45}},
		Closed: closed{Calls: 1000, Inside: 600, Took: 2 * time.Second},
	}
	for p := range closing {
		m.Waits[p], m.Gaps[p] = peaked{1000, int64(time.Second)}, peaked{1000, int64(time.Second / 10)}
	}
	return m
}

// Each control is a load that is fair but for one thing, and breaks one row, and no other.
func TestEveryRowBreaks(t *testing.T) {
	shown := map[string]bool{}
	for _, test := range []struct {
		name, row string
		harm      func(m *measured)
	}{
		{"a failure", "updates failed", func(m *measured) { m.Failed = 1 }},
		{"an unknown outcome", "updates with an unknown outcome", func(m *measured) { m.Unknown = 1 }},
		{"twenty bytes kept of each of 100,000 updates", rowHeap, func(m *measured) { m.Last.Heap += 20 * 100_000 }},
		{"a heap that was not measured", rowHeap, func(m *measured) { m.First.Heap, m.Last.Heap = 0, 0 }},
		{"a goroutine left by each thousandth of 100,000 updates", rowGoroutines, func(m *measured) { m.Last.Goroutines += 100 }},
		{"goroutines that were not counted", rowGoroutines, func(m *measured) { m.Last.Goroutines = 0 }},
		{"a connection too many", "connections at once", func(m *measured) { m.Connections = 33 }},
		{"a long wait", "longest wait, keys: even", func(m *measured) { m.Waits[even].Most = int64(loadPatience + 1) }},
		{"a long wait for a key of many", "longest wait, keys: skewed", func(m *measured) {
			m.Waits[skewed].Most = int64(loadPatience + 1)
		}},
		{"a part that did not happen", "longest wait, keys: one key", func(m *measured) { m.Waits[hot] = peaked{} }},
		{"a lock that ends with its lease", "one key: longest time without an update", func(m *measured) {
			m.Gaps[hot].Most = int64(loadLease)
		}},
		{"a store that is hardly let in", rowTurns, func(m *measured) { m.Turns[2] = 10 }},
		{"stores that do not take turns", rowTurns, func(m *measured) { m.Turns = make([]int64, processes) }},
		{"a starved goroutine", rowServed, func(m *measured) { m.Served[1][2] = 20 }},
		{"starved goroutines of one store", rowServed, func(m *measured) { m.Served[1] = make([]int64, 3) }},
		{"nothing was held for long", "held longer than a lease of 2s", func(m *measured) { m.Held = 0 }},
		{"nothing was renewed", "leases renewed", func(m *measured) { m.Renewed = 19 }},
		{"a lost lease", "leases lost", func(m *measured) { m.Lost = 1 }},
		{"a function whose ctx ended", "leases lost", func(m *measured) { m.HeldLost = 1 }},
		{"a Close with nothing to wait for", "  of which in their function", func(m *measured) { m.Closed.Inside = 0 }},
		{"a slow Close", "  took", func(m *measured) { m.Closed.Took = loadPatience + 1 }},
		{"a slow Close in a cut-over", "  took", func(m *measured) { m.Moving, m.Closed.Took = true, loadPatience+loadHeld+1 }},
		{"a slow Close on demand", "  took on demand", func(m *measured) { m.Closed.OnDemand = loadPatience + loadHeld + 1 }},
		{"a Close that fails", "  errors", func(m *measured) { m.Closed.Errors = []string{"no"} }},
		{"a call that does not end", "  calls that did not end", func(m *measured) { m.Closed.Unended = 1 }},
		{"a refusal of one whose function ran", "  refused though their function ran", func(m *measured) { m.Closed.Abandoned = 1 }},
		{"a closed store that is open", "  calls admitted afterwards", func(m *measured) { m.Closed.Admitted = 1 }},
		{"a lock that stays", "  locks left", func(m *measured) { m.Closed.Locks = []string{"/lock/a"} }},
		{"a connection that stays", "  connections left", func(m *measured) { m.Closed.Connections = 1 }},
		{"a goroutine that stays", "  goroutines left", func(m *measured) { m.Closed.Goroutines = 1 }},
	} {
		m := fair()
		assert.Empty(t, brokenRows(judgeLoad(m)))
		test.harm(m)
		rows := judgeLoad(m)
		assert.Equal(t, []string{test.row}, brokenRows(rows), test.name)
		assert.True(t, (&Verdict{Rows: rows}).Bad())
		shown[test.row] = true
	}
	for _, row := range judgeLoad(fair()) {
		assert.True(t, shown[row.What] || row.Bound == "", "no control breaks %q", row.What)
	}
}

func brokenRows(rows []Row) (names []string) {
	for _, row := range rows {
		if row.Broken {
			names = append(names, row.What)
		}
	}
	return names
}

// A turn begins where a store updates the key after another one. A store that updates it twice has one turn.
func TestTurns(t *testing.T) {
	l := &loading{members: []*loadMember{{number: 1}, {number: 2}}}
	var r record
	for _, store := range []int{1, 1, 2, 2, 1, 2, 1} {
		l.turned(l.members[store-1], r)
		r = r.with(7, store)
	}
	assert.Equal(t, record{n: 7, sum: 49, turn: 5, store: 1}, r)
	assert.EqualValues(t, 3, l.members[0].turns.Load())
	assert.EqualValues(t, 2, l.members[1].turns.Load())
	assert.Equal(t, peaked{3, 1}, l.between.value())
	back, err := parseRecord(r.value().Text())
	assert.NoError(t, err)
	assert.Equal(t, r, back)
}

func TestTally(t *testing.T) {
	for name, test := range map[string]struct {
		stored       record
		unknown      int64
		lost, double int
	}{
		"as it should be":             {record{n: 2, sum: 30}, 0, 0, 0},
		"lost":                        {record{n: 1, sum: 10}, 0, 1, 0},
		"twice":                       {record{n: 3, sum: 50}, 0, 0, 1},
		"one lost, the other twice":   {record{n: 2, sum: 20}, 0, 1, 1},
		"unknown, and there":          {record{n: 3, sum: 37}, 1, 0, 0},
		"unknown, and not there":      {record{n: 2, sum: 30}, 1, 0, 0},
		"unknown, there and one more": {record{n: 4, sum: 60}, 1, 0, 1},
	} {
		tally, v := newTally(1), &Verdict{}
		tally.record(0, 10, nil)
		tally.record(0, 20, nil)
		tally.keys[0].unknown.Store(test.unknown)
		tally.judge(v, []record{test.stored})
		assert.Equal(t, []int{test.lost, test.double}, []int{v.Lost, v.Double}, name)
	}
}

// smallLoad is a load for one run of the tests; make torture plays a large one.
func smallLoad() Nemesis {
	n, _ := nemesisOf("load")
	n.load = &loadSize{keys: 500, goroutines: 100, pool: 16}
	return n
}

// A machine on which even pings have no replies loses leases, and breaks no row by that.
func TestStarvedMachine(t *testing.T) {
	m := fair()
	m.Lost, m.HeldLost, m.Pings = 1, 1, peaked{100, int64(loadStarved + 1)}
	for _, row := range judgeLoad(m) {
		assert.False(t, row.Broken, row.What)
	}
}

// A small load over each topology.
func TestLongLoad(t *testing.T) {
	long.Only(t)
	for _, topology := range Topologies() {
		if !smallLoad().fits(topology) {
			continue
		}
		t.Run(topology.Name, func(t *testing.T) {
			env := startedAt(t, topology)
			result := Cell(t.Context(), env, smallLoad(), 6*time.Second, 1)
			var table bytes.Buffer
			require.NoError(t, (&Report{Results: []*Result{result}}).Table(&table))
			t.Log(table.String())
			assert.False(t, result.Bad(), table.String())
			for line := range strings.Lines(table.String()) {
				assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 80, line)
			}
		})
	}
}

// startedAt skips, or fails, if there is no such server.
func startedAt(t *testing.T, topology Topology) *Environment {
	server := servers.Redis(t)
	if strings.Contains(topology.Name, "nutcracker") {
		servers.Nutcracker(t, []string{server.Addr}, 1)
	}
	env, err := topology.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(env.Close)
	return env
}

// A small load finds what each row finds in its measurements.
func TestLongControlOfLoad(t *testing.T) {
	long.Only(t)
	env := startedAt(t, Topologies()[0])
	result := cell(t.Context(), env, smallLoad(), 6*time.Second, 1, variant{load: openSpoiled})
	var table bytes.Buffer
	require.NoError(t, (&Report{Results: []*Result{result}}).Table(&table))
	t.Log(table.String())
	assert.Positive(t, result.Lost)
	assert.True(t, result.grows(), table.String())
	assert.Contains(t, result.examples, "lock left: /lock/"+loadKey(1))
}

// An interrupted load leaves no goroutine.
func TestInterruptedLoad(t *testing.T) {
	env := startedAt(t, Topologies()[0])
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	result := Cell(ctx, env, smallLoad(), time.Minute, 1)
	require.NotEmpty(t, result.Errors)
	gone := func() bool { return goroutines("redis/load") == 0 }
	require.Eventually(t, gone, 5*time.Second, 10*time.Millisecond)
}
