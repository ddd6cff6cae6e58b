package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/lockupdate"
)

// fair is a run in which all promises held.
func fair() *Measured {
	m := &Measured{
		Tally:  Tally{Acknowledged: 100_000},
		Turns:  Waits{N: 100, P50: 30 * time.Millisecond, P99: 100 * time.Millisecond, Longest: 300 * time.Millisecond},
		Passed: Spread[int64]{N: 100, P50: 3000, P99: 9000},
		Stats:  lockupdate.Stats{Renewed: 100},
		Held:   20, Bound: 32, ConnectionsMost: 32, ConnectionsAtServer: 32, GoroutinesBefore: 10,
		Shares: []int64{250, 260, 240, 250}, Served: [][]int64{{90, 100, 110}, {50, 45, 45}},
		Ending: Ending{Calls: 1000, Inside: 600, Took: 2 * time.Second, Goroutines: 10},
	}
	m.Sweeps = []Swept{{Limit: 3000, Moved: 2900, Took: time.Second}, {Moved: 9000, Took: time.Second}}
	for p := range ending {
		for i := range m.Sweeps {
			m.Sweeps[i].Updates[p] = slices.Repeat([]float64{0.9}, enough)
			m.Sweeps[i].P99[p] = append(slices.Repeat([]float64{1.1 + float64(i)}, enough-1), 7)
		}
		m.Waits[p] = Waits{N: 1000, P50: 10 * time.Millisecond, P99: 20 * time.Millisecond, Longest: time.Second}
	}
	for i := range 30 {
		in := Sample{Round: i / 10, Heap: 8<<20 + uint64(i%3)<<17, Goroutines: 1200 + i%7, Updates: int64(i * 3000)}
		m.Samples = append(m.Samples, in)
	}
	return m
}

// Each control is a run that is fair but for one thing, and must break one row, and no other.
func TestEveryJudgeFails(t *testing.T) {
	shown := map[string]bool{}
	for _, test := range []struct {
		name, row string
		harm      func(m *Measured)
	}{
		{"nothing was done", "updates acknowledged", func(m *Measured) { m.Tally.Acknowledged = 0 }},
		{"a lost update", "  lost", func(m *Measured) { m.Tally.Lost = 1 }},
		{"an update carried out twice", "  carried out more than once", func(m *Measured) { m.Tally.Extra = 1 }},
		{"one lost and another twice", "  keys with other updates", func(m *Measured) { m.Tally.Mixed = 1 }},
		{"a failure", "updates failed", func(m *Measured) { m.Tally.Failed = 1 }},
		{"an unknown outcome", "updates with an unknown outcome", func(m *Measured) { m.Tally.Unknown = 1 }},
		{"twenty bytes kept of each update", "heap alive, first -> last round", func(m *Measured) {
			for i := range m.Samples {
				m.Samples[i].Heap += uint64(20 * m.Samples[i].Updates * 2)
			}
		}},
		{"a heap nobody looked at", "heap alive, first -> last round", func(m *Measured) {
			for i := range m.Samples {
				m.Samples[i].Heap = 0
			}
		}},
		{"a goroutine left by each thousandth update", "goroutines, first -> last round", func(m *Measured) {
			for i := range m.Samples {
				m.Samples[i].Goroutines += int(m.Samples[i].Updates / 300)
			}
		}},
		{"a connection too many", "connections at once", func(m *Measured) { m.ConnectionsMost = 33 }},
		{"one that only the server knows", "  as the server counts them", func(m *Measured) { m.ConnectionsAtServer = 33 }},
		{"a long wait", "longest wait, keys: even", func(m *Measured) { m.Waits[even].Longest = patience + 1 }},
		{"a long wait for a key of many", "longest wait, keys: skewed", func(m *Measured) { m.Waits[skewed].Longest = patience + 1 }},
		{"a part that did not happen", "longest wait, keys: one key", func(m *Measured) { m.Waits[hot] = Waits{} }},
		{"a sweep that moves nothing", "sweep of 3,000 keys a second at most", func(m *Measured) { m.Sweeps[0].Moved = 0 }},
		{"a sweep that slows updates", "    99th percentile / without", func(m *Measured) {
			m.Sweeps[0].P99[even] = slices.Repeat([]float64{1.3}, enough)
		}},
		{"a control that moves nothing", "sweep without a limit, keys a second", func(m *Measured) { m.Sweeps[1].Moved = 0 }},
		{"a lost idle key", "swept keys without their value", func(m *Measured) { m.IdleLost = 1 }},
		{"a key with two homes", "swept keys in a wrong state", func(m *Measured) { m.WrongStates = 1 }},
		{"a store that is let in late", "    99th percentile / median", func(m *Measured) { m.Passed.P99 = 31 * m.Passed.P50 }},
		{"a store that has to wait for a lease to end", "  longest", func(m *Measured) { m.Turns.Longest = lease + 1 }},
		{"stores that do not take turns", "    99th percentile / median", func(m *Measured) { m.Passed = Spread[int64]{} }},
		{"a store that is hardly let in", "  updates of a store, least / fair share", func(m *Measured) { m.Shares[2] = 80 }},
		{"a starved goroutine", "  updates of its goroutine, least / median", func(m *Measured) { m.Served[1][2] = 20 }},
		{"nothing was held for long", "held longer than a lease of 2s", func(m *Measured) { m.Held = 0 }},
		{"nothing was renewed", "leases renewed", func(m *Measured) { m.Stats.Renewed = 19 }},
		{"a lost lease", "leases lost", func(m *Measured) { m.Stats.Lost = 1 }},
		{"a function whose ctx ended", "leases lost", func(m *Measured) { m.HeldLost = 1 }},
		{"a Close with nothing to wait for", "  of which in their function", func(m *Measured) { m.Ending.Inside = 0 }},
		{"a slow Close", "  took", func(m *Measured) { m.Sweeps, m.Ending.Took = nil, patience+1 }},
		{"a slow Close beside a sweep", "  took", func(m *Measured) { m.Ending.Took = patience + heldFor + 1 }},
		{"a slow Close, on demand", "  took", func(m *Measured) { m.OnDemand, m.Ending.Took = true, patience+heldFor+1 }},
		{"a Close that fails", "  errors", func(m *Measured) { m.Ending.Errors = []string{"no"} }},
		{"a call that does not end", "  calls that did not end", func(m *Measured) { m.Ending.Unended = 1 }},
		{"a refusal of one whose function ran", "  refused though their function ran",
			func(m *Measured) { m.Sweeps, m.Ending.Abandoned = nil, 1 }},
		{"a closed store that is open", "  calls admitted afterwards", func(m *Measured) { m.Ending.Admitted = 1 }},
		{"a lock that stays", "  locks left", func(m *Measured) { m.Ending.Locks = []string{"/lock/load:1"} }},
		{"a connection that stays", "  connections left", func(m *Measured) { m.Ending.ConnectionsLeft = 1 }},
		{"a goroutine that stays", "  goroutines left", func(m *Measured) { m.Ending.Goroutines = 11 }},
	} {
		m := fair()
		assert.Empty(t, broken(judge(m)))
		test.harm(m)
		assert.Equal(t, []string{test.row}, broken(judge(m)), test.name)
		shown[test.row] = true
	}
	for _, row := range judge(fair()) {
		assert.True(t, shown[row.What] || row.Bound == "", "no control breaks %q", row.What)
	}
}

func broken(rows []Row) (names []string) {
	for _, row := range rows {
		if row.Broken {
			names = append(names, row.What)
		}
	}
	return names
}

// A store that pauses on a slow machine is not a store that waits for another one.
func TestTurnNeedsAnotherStore(t *testing.T) {
	p := &play{began: time.Now().Add(-time.Minute), members: []*member{{}, {}}}
	w := &worker{play: p, member: p.members[0]}
	w.servedAt.Store(int64(30 * time.Second))
	w.turn()
	assert.Zero(t, p.turns.spread().N, "nobody else had the key")
	p.members[1].hot.Add(7)
	w.servedAt.Store(int64(30 * time.Second))
	w.turn()
	assert.EqualValues(t, 1, p.turns.spread().N)
	assert.EqualValues(t, 7, p.passed.spread().Longest)
}

func TestTally(t *testing.T) {
	for name, test := range map[string]struct {
		stored  record
		unknown int64
		want    Tally
	}{
		"as it should be":             {record{2, 30}, 0, Tally{Acknowledged: 2}},
		"lost":                        {record{1, 10}, 0, Tally{Acknowledged: 2, Lost: 1}},
		"twice":                       {record{3, 50}, 0, Tally{Acknowledged: 2, Extra: 1}},
		"one lost, the other twice":   {record{2, 20}, 0, Tally{Acknowledged: 2, Mixed: 1}},
		"unknown, and there":          {record{3, 37}, 1, Tally{Acknowledged: 2, Unknown: 1}},
		"unknown, and not there":      {record{2, 30}, 1, Tally{Acknowledged: 2, Unknown: 1}},
		"unknown, there and one more": {record{4, 60}, 1, Tally{Acknowledged: 2, Unknown: 1, Extra: 1}},
	} {
		e := newExpectations(1)
		e.keys[0].acknowledged.Store(2)
		e.keys[0].sum.Store(10 + 20)
		e.keys[0].unknown.Store(test.unknown)
		assert.Equal(t, test.want, e.tally([]record{test.stored}), name)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram[time.Duration]
	assert.Equal(t, Waits{}, h.spread())
	for us := range 100_000 {
		h.add(time.Duration(us) * time.Microsecond)
	}
	w := h.spread()
	assert.EqualValues(t, 100_000, w.N)
	for want, got := range map[time.Duration]time.Duration{50: w.P50, 99: w.P99, 100: w.Longest} {
		assert.InEpsilon(t, want*time.Millisecond, got, 0.01)
	}
	h.add(-time.Second)
	h.add(math.MaxInt64)
	assert.EqualValues(t, 100_002, h.spread().N)
	h.reset()
	assert.Equal(t, Waits{}, h.spread())
}
