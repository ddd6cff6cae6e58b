package torture

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// measured holds the measurements of a load.
type measured struct {
	Failed, Unknown int64 // updates

	First, Last atRest // after a third of the load, and after all of it
	Waits, Gaps [parts]peaked
	Turns       []int64   // with the one key, per store
	Between     peaked    // turns of other stores between two of a store
	Pings       peaked    // times that a ping waits for its reply
	Served      [][]int64 // updates per goroutine of each store

	Held, HeldLost     int64
	Renewed, Lost      int64 // leases
	Connections, Bound int   // the most at once, and those of the pools

	Moving bool // in a cut-over
	Closed closed
	Stored []record
}

// Row is a measurement of a load beside its bound.
type Row struct {
	What     string
	Measured string
	Bound    string // "": informational only
	Broken   bool
}

// grows reports whether a load broke all bounds that the control [openSpoiled] has to break.
func (v *Verdict) grows() bool {
	for _, what := range []string{
		rowHeap, rowGoroutines, rowTurns, rowServed, "longest wait, keys: even", "  locks left", "  goroutines left",
	} {
		if !slices.ContainsFunc(v.Rows, func(row Row) bool { return row.What == what && row.Broken }) {
			return false
		}
	}
	return true
}

// The rows that the control breaks.
const (
	rowHeap       = "heap at rest, after a third -> at the end"
	rowGoroutines = "goroutines at rest, likewise"
	rowTurns      = "  turns of a store, least / fair share"
	rowServed     = "updates of a store's goroutine, least / median"
)

// The bounds. A busy machine must not break one, so most are counts, and times are those of a lock that is not
// given back.
const (
	// heapSpare and heapShare limit the growth of the heap: buffers grow with the largest batch. A minute has some
	// hundred thousand updates between the two measurements, so a leak of ten bytes per update shows.
	heapSpare = 1 << 20
	heapShare = 20 // a twentieth

	// goroutinesSpare is the number of goroutines that the clients may have for a moment.
	goroutinesSpare = 4

	// loadPatience bounds any wait: a lock that its holder keeps to the end of its lease, and the work of the
	// successor. A starved caller waits until the end of the load.
	loadPatience = loadHeld + loadLease

	// stuckKey bounds the time between two updates of the one key: a lock that is not given back ends with its lease.
	stuckKey = loadLease * 3 / 4

	// loadStarved is how long a ping takes on a machine that is too busy for leases: a renewal, at half a lease, has less
	// than the other half.
	loadStarved = loadLease / 4

	// turnShare is the minimum number of turns of a store relative to an equal distribution. A starved store has none.
	turnShare = 0.25

	// servedShare is the same for the updates of a goroutine, relative to the median of its store.
	servedShare = 0.5
)

// judgeLoad compares the measurements with the promises.
func judgeLoad(m *measured) []Row {
	return slices.Concat(judgeCalls(m), judgeRest(m), judgeWaits(m), judgeFairness(m), judgeLeases(m), judgeClose(m))
}

func atMost(what string, n, bound int64) Row {
	return Row{what, wrap.Grouped(n), "<= " + wrap.Grouped(bound), n > bound}
}

func atLeast(what string, n, bound int64) Row {
	return Row{what, wrap.Grouped(n), ">= " + wrap.Grouped(bound), n < bound}
}

// share returns a row that is broken if b is 0.
func share(what string, a, b, bound float64) Row {
	r := a / b
	return Row{what, fmt.Sprintf("%.2f", r), fmt.Sprintf(">= %.3g", bound), !(r >= bound)}
}

func atLongest(what string, d, bound time.Duration) Row {
	return Row{what, seconds(d), "<= " + seconds(bound), d > bound}
}

func judgeCalls(m *measured) []Row {
	return []Row{atMost("updates failed", m.Failed, 0), atMost("updates with an unknown outcome", m.Unknown, 0)}
}

func judgeRest(m *measured) []Row {
	heap := m.First.Heap + heapSpare + m.First.Heap/heapShare
	few := m.First.Goroutines + goroutinesSpare
	return []Row{
		{
			rowHeap, megabytes(m.First.Heap) + " -> " + megabytes(m.Last.Heap), "<= " + megabytes(heap),
			m.First.Heap == 0 || m.Last.Heap == 0 || m.Last.Heap > heap, // 0: not measured
		},
		{
			rowGoroutines, fmt.Sprintf("%d -> %d", m.First.Goroutines, m.Last.Goroutines), fmt.Sprintf("<= %d", few),
			m.First.Goroutines == 0 || m.Last.Goroutines == 0 || m.Last.Goroutines > few,
		},
		atMost("connections at once", int64(m.Connections), int64(m.Bound)),
	}
}

func judgeWaits(m *measured) (rows []Row) {
	for p := range closing {
		row := atLongest("longest wait, keys: "+p.String(), time.Duration(m.Waits[p].Most), loadPatience)
		row.Broken = row.Broken || m.Waits[p].N == 0
		rows = append(rows, row)
	}
	return append(rows, atLongest("one key: longest time without an update", time.Duration(m.Gaps[hot].Most), stuckKey))
}

func judgeFairness(m *measured) []Row {
	sum, least := int64(0), math.Inf(1)
	for _, n := range m.Turns {
		sum += n
	}
	for _, all := range m.Served {
		least = min(least, float64(slices.Min(all))/float64(median(all))) // NaN stays NaN, which breaks the row
	}
	return []Row{
		{What: "  turns of all stores", Measured: wrap.Grouped(sum)},
		share(rowTurns, float64(slices.Min(m.Turns)), float64(sum)/float64(len(m.Turns)), turnShare),
		{What: "  turns of others between two, at most", Measured: wrap.Grouped(m.Between.Most)},
		share(rowServed, least, 1, servedShare),
	}
}

func median(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

func judgeLeases(m *measured) []Row {
	lost := atMost("leases lost", m.Lost+m.HeldLost, 0)
	if m.Pings.Most > int64(loadStarved) { // no renewal had a reply in time either
		lost.Bound, lost.Broken = "", false
	}
	return []Row{
		atLeast("held longer than a lease of "+loadLease.String(), m.Held, 1),
		atLeast("leases renewed", m.Renewed, m.Held),
		{What: "a ping waits, at most", Measured: seconds(time.Duration(m.Pings.Most))},
		lost,
	}
}

func judgeClose(m *measured) []Row {
	c := m.Closed
	abandoned := atMost("  refused though their function ran", c.Abandoned, 0)
	bound := loadPatience
	if m.Moving { // the function of an absent key runs before the key moves, and again afterwards
		bound += loadHeld
		abandoned.Bound, abandoned.Broken = "", false
	}
	return []Row{
		{What: "Close: updates under way", Measured: wrap.Grouped(c.Calls)},
		atLeast("  of which in their function", c.Inside, 1),
		atLongest("  took", c.Took, bound),
		atLongest("  took on demand", c.OnDemand, loadPatience+loadHeld), // a function runs again after a refused commit
		atMost("  errors", int64(len(c.Errors)), 0),
		atMost("  calls that did not end", c.Unended, 0),
		abandoned,
		atMost("  calls admitted afterwards", int64(c.Admitted), 0),
		atMost("  locks left", int64(len(c.Locks)), 0),
		atMost("  connections left", int64(c.Connections), 0),
		atMost("  goroutines left", int64(c.Goroutines), 0),
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
