package load

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/lockupdate"
)

// Measured holds the measurements of a run.
type Measured struct {
	Tally   Tally
	Samples []Sample // of the rounds
	Waits   [parts]Waits
	Turns   Waits         // the times a store spent without the contended key while another one had it
	Passed  Spread[int64] // the updates that other stores made meanwhile
	Shares  []int64       // updates of the contended key, per store
	Served  [][]int64     // updates per goroutine of each store, over all rounds
	Stats   lockupdate.Stats

	Held, HeldLost int64 // functions that outlived a lease; functions with a ctx that ended without a cancel

	Bound, ConnectionsMost int // of connections
	ConnectionsAtServer    int // the maximum seen; -1: hidden by a proxy
	GoroutinesBefore       int // before the stores were made

	Sweeps                []Swept // empty: no cut-over
	IdleLost, WrongStates int     // keys after the sweeps: see [cutover.Store.Verify]

	OnDemand bool // updates take the lock only after contention
	Ending   Ending
}

// Spread summarizes N values.
type Spread[T ~int64] struct {
	N                       int64
	P50, P99, P999, Longest T
}

// Waits summarizes the durations of calls.
type Waits = Spread[time.Duration]

// Row is one line of the result.
type Row struct {
	What     string
	Measured string
	Bound    string // "": informational only
	Broken   bool
}

// The bounds.
const (
	// heapSpare and heapShare limit the growth of the heap from the first to the last round: buffers grow
	// with the largest batch. A minute has some hundred thousand updates between the two, so a leak of ten
	// bytes per update shows.
	heapSpare = 1 << 20
	heapShare = 20 // a twentieth

	// goroutineSpare and goroutineShare allow for calls in flight, which have goroutines.
	goroutineSpare = 10
	goroutineShare = 10 // a tenth

	// unfair bounds the 99th percentile of the updates that other stores make while a store is without the
	// contended key, as a multiple of the median. It counts updates instead of time, since a stalled
	// machine delays all stores. The longest wait may be a lease: then a lock that is never released
	// expires.
	unfair = 20

	// patience bounds any wait: a lock that its holder keeps to the end of its lease, and the work of the
	// successor. A starved store waits until the end of the load.
	patience = heldFor + lease

	// fairShare is the minimum share of a store relative to an equal distribution, and of the worst-served
	// goroutine relative to its store's median.
	fairShare = 0.5
)

// judge compares the measurements with the promises.
func judge(m *Measured) []Row {
	return slices.Concat(judgeTally(m.Tally), judgeHeap(m.Samples), judgeGoroutines(m.Samples), judgeConnections(m),
		judgeWaits(m.Waits), judgeSweeps(m), judgeFairness(m), judgeLeases(m), judgeEnding(m))
}

func atMost(what string, n, bound int64) Row {
	return Row{what, wrap.Grouped(n), "<= " + wrap.Grouped(bound), n > bound}
}

func atLeast(what string, n, bound int64) Row {
	return Row{what, wrap.Grouped(n), ">= " + wrap.Grouped(bound), n < bound}
}

func told(what, measured string) Row { return Row{What: what, Measured: measured} }

func judgeTally(t Tally) []Row {
	return []Row{
		atLeast("updates acknowledged", t.Acknowledged, 1),
		atMost("  lost", t.Lost, 0),
		atMost("  carried out more than once", t.Extra, 0),
		atMost("  keys with other updates", t.Mixed, 0),
		atMost("updates failed", t.Failed, 0),
		atMost("updates with an unknown outcome", t.Unknown, 0),
	}
}

// least returns the smallest value of a round: temporary use varies, a leak stays.
func least(samples []Sample, round int, read func(s Sample) uint64) (n uint64) {
	for _, s := range samples {
		if s.Round == round && (n == 0 || read(s) < n) {
			n = read(s)
		}
	}
	return n
}

func median(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// compared returns a row that compares the first and the last round.
func compared(what string, samples []Sample, spare, share uint64, read func(s Sample) uint64, show func(n uint64) string) Row {
	first, last := least(samples, 0, read), least(samples, rounds-1, read)
	bound := first + spare + first/share
	return Row{
		What: what, Measured: show(first) + " -> " + show(last), Bound: "<= " + show(bound),
		Broken: first == 0 || last == 0 || last > bound, // 0: not measured
	}
}

func judgeHeap(samples []Sample) []Row {
	var peak uint64
	for _, s := range samples {
		peak = max(peak, s.Resident)
	}
	row := compared("heap alive, first -> last round", samples, heapSpare, heapShare, func(s Sample) uint64 { return s.Heap }, megabytes)
	return []Row{row, told("memory of the process, at most", megabytes(peak))}
}

func judgeGoroutines(samples []Sample) []Row {
	return []Row{compared("goroutines, first -> last round", samples, goroutineSpare, goroutineShare,
		func(s Sample) uint64 { return uint64(s.Goroutines) }, func(n uint64) string { return wrap.Grouped(int64(n)) })}
}

func judgeConnections(m *Measured) []Row {
	rows := []Row{atMost("connections at once", int64(m.ConnectionsMost), int64(m.Bound))}
	if m.ConnectionsAtServer >= 0 {
		rows = append(rows, atMost("  as the server counts them", int64(m.ConnectionsAtServer), int64(m.Bound)))
	}
	return rows
}

func judgeWaits(waits [parts]Waits) (rows []Row) {
	for p := range ending {
		row := Row{"longest wait, keys: " + p.String(), seconds(waits[p].Longest), "<= " + seconds(patience), false}
		row.Broken = waits[p].N == 0 || waits[p].Longest > patience
		rows = append(rows, row)
	}
	return rows
}

func judgeFairness(m *Measured) []Row {
	turns, passed, shares := m.Turns, m.Passed, m.Shares
	sum := int64(0)
	for _, n := range shares {
		sum += n
	}
	return []Row{
		told("one key: a store waits its turn, median", milli(turns.P50)),
		told("  updates of other stores meanwhile, median", wrap.Grouped(passed.P50)),
		ratio("    99th percentile / median", float64(passed.P99), float64(passed.P50), "<=", unfair),
		{"  longest", seconds(turns.Longest), "<= " + seconds(lease), turns.Longest > lease},
		told("  longest / median", fmt.Sprintf("%.1f", float64(turns.Longest)/float64(turns.P50))),
		ratio("  updates of a store, least / fair share", float64(slices.Min(shares)), float64(sum)/float64(len(shares)), ">=", fairShare),
		judgeServed(m.Served),
	}
}

// judgeServed compares the goroutines of one store. Another row compares the stores.
func judgeServed(served [][]int64) Row {
	least := math.Inf(1)
	for _, all := range served {
		least = min(least, float64(slices.Min(all))/float64(median(all))) // NaN stays NaN, which breaks the row
	}
	return ratio("  updates of its goroutine, least / median", least, 1, ">=", fairShare)
}

// ratio returns a row that is broken if b is 0.
func ratio(what string, a, b float64, relation string, bound float64) Row {
	r := a / b
	kept := r <= bound
	if relation == ">=" {
		kept = r >= bound
	}
	return Row{what, fmt.Sprintf("%.2f", r), fmt.Sprintf("%s %.3g", relation, bound), !kept}
}

func judgeLeases(m *Measured) []Row {
	return []Row{
		atLeast("held longer than a lease of "+lease.String(), m.Held, 1),
		atLeast("leases renewed", int64(m.Stats.Renewed), m.Held),
		told("  renewals that had to be tried again", wrap.Grouped(int64(m.Stats.RenewFailures))),
		atMost("leases lost", int64(m.Stats.Lost)+m.HeldLost, 0),
	}
}

func judgeEnding(m *Measured) []Row {
	e, within := m.Ending, patience
	if m.OnDemand || len(m.Sweeps) > 0 {
		within += heldFor // a function runs again after a refused commit, and after its key has moved
	}
	abandoned := atMost("  refused though their function ran", e.Abandoned, 0)
	if len(m.Sweeps) > 0 { // the function of an absent key runs before the key moves, and again afterwards
		abandoned = told(abandoned.What, abandoned.Measured)
	}
	return []Row{
		told("Close: updates under way", wrap.Grouped(e.Calls)),
		atLeast("  of which in their function", e.Inside, 1),
		{"  took", seconds(e.Took), "<= " + seconds(within), e.Took > within},
		atMost("  errors", int64(len(e.Errors)), 0),
		atMost("  calls that did not end", e.Unended, 0),
		abandoned,
		atMost("  calls admitted afterwards", int64(e.Admitted), 0),
		atMost("  locks left", int64(len(e.Locks)), 0),
		atMost("  connections left", int64(e.ConnectionsLeft), 0),
		atMost("  goroutines left", int64(max(e.Goroutines-m.GoroutinesBefore, 0)), 0),
	}
}
