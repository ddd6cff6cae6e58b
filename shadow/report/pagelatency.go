package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// pageLatency shows how long both paths took: all calls together, and the operation in
// which the candidate does worst against the legacy path.
type pageLatency struct {
	Charts []pageCurves
	Table  pageTable // of all, and of the slowest
	Rest   pageTable
}

// pageCurves is a chart of quantiles: from left to right the share of the calls that are
// faster, on an axis in which every nine has the same room, from below to above the time,
// on a logarithmic one.
type pageCurves struct {
	Title, Desc       string
	Legacy, Candidate string // points of a polyline in a box of curveWide by curveHigh
	Nines             []pageTick
	Times             []pageTick
}

// pageTick is a line of a grid, with its label; At is in percent from the left, or in
// pixels from above.
type pageTick struct {
	At    float64
	Label string
	End   bool // the last, whose label must end where the chart does
}

const (
	curveWide = 1000.0
	curveHigh = 220.0
	curveMost = 4.0 // nines
)

func newPageLatency(r *Report) pageLatency {
	type row struct {
		name              string
		legacy, candidate Latency
		ratio             float64
	}
	var rows []row
	for _, o := range r.Operations {
		if o.Legacy.Count() == 0 && o.Candidate.Count() == 0 {
			continue
		}
		slower := 0.0
		if before := o.Legacy.Quantile(0.99); before > 0 {
			slower = float64(o.Candidate.Quantile(0.99)) / float64(before)
		}
		rows = append(rows, row{operationName(o.Domain, o.Name), o.Legacy, o.Candidate, slower})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.name, b.name)) })
	legacy, candidate := r.pageLatencies()
	out := pageLatency{Table: pageTable{
		Label: "Latency of both paths: all operations, and the slowest against legacy",
		Head:  pageColumns("Operation", "Path", "#p50", "#p90", "#p99", "#p99.9", "#Calls"),
	}}
	if len(rows) == 0 {
		return out
	}
	out.Charts = append(out.Charts, newPageCurves("All operations", legacy, candidate))
	if len(rows) > 1 {
		out.Charts = append(out.Charts, newPageCurves(
			"Slowest against legacy, by p99: "+rows[0].name, rows[0].legacy, rows[0].candidate))
		rows = slices.Insert(rows, 0, row{"all", legacy, candidate, 0})
	}
	shown := rows[:min(len(rows), pageRows/2)]
	out.Rest = out.Table
	out.Rest.Label = "Latency of both paths, the other operations"
	for i, one := range shown {
		table := &out.Table
		if i > 4 {
			table = &out.Rest
		}
		first := pageHead(one.name)
		first.Rows = 2
		table.Rows = append(table.Rows,
			append([]pageCell{first, pageText("legacy")}, pageQuantiles(one.legacy)...),
			append([]pageCell{pageText("candidate")}, pageQuantiles(one.candidate)...))
	}
	out.Rest.Note = pageLeftOut(len(rows), len(shown), "operation")
	return out
}

// pageQuantiles leaves those out that the calls are too few for: the p99.9 of a hundred
// calls is only their longest.
func pageQuantiles(l Latency) []pageCell {
	var cells []pageCell
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		cell := pageNumber(pageNone)
		if float64(l.Count())*(1-q) >= 1-1e-9 {
			cell.Text = pageDuration(l.Quantile(q))
		}
		cells = append(cells, cell)
	}
	return append(cells, pageNumberOf(l.Count()))
}

func newPageCurves(title string, legacy, candidate Latency) pageCurves {
	out := pageCurves{Title: title}
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range []Latency{legacy, candidate} {
		if l.Count() > 0 {
			low = min(low, pageLog(l.Rank(1)))
			high = max(high, pageLog(l.Quantile(1-math.Pow(10, -pageReach(l)))))
		}
	}
	low, high = math.Floor(low*3)/3, math.Ceil(high*3)/3
	if high-low < 1 {
		high = low + 1
	}
	height := func(d time.Duration) float64 { return curveHigh * (high - pageLog(d)) / (high - low) }
	out.Legacy, out.Candidate = pageCurve(legacy, height), pageCurve(candidate, height)
	for _, nine := range []struct {
		q     float64
		label string
	}{{0, "p0"}, {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}, {0.9999, "p99.99"}} {
		at := 100 * pageNines(nine.q) / curveMost
		out.Nines = append(out.Nines, pageTick{At: at, Label: nine.label, End: at > 99})
	}
	steps := []float64{1}
	if high-low < 2.5 {
		steps = []float64{1, 2, 5}
	}
	for decade := math.Floor(low); decade <= high; decade++ {
		for _, step := range steps {
			ms := step * math.Pow(10, decade)
			at := height(time.Duration(ms * float64(time.Millisecond)))
			if at >= 0 && at <= curveHigh {
				out.Times = append(out.Times, pageTick{At: at, Label: pageMilliseconds(ms)})
			}
		}
	}
	out.Desc = "legacy " + pageInWords(legacy) + "; candidate " + pageInWords(candidate)
	return out
}

func pageInWords(l Latency) string {
	if l.Count() == 0 {
		return "nothing measured"
	}
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, of %s", pageDuration(l.Quantile(0.5)), pageDuration(l.Quantile(0.9)),
		pageDuration(l.Quantile(0.99)), pagePlural(l.Count(), "call"))
}

// pageReach is up to how many nines the calls tell something.
func pageReach(l Latency) float64 { return min(curveMost, math.Log10(float64(max(l.Count(), 1)))) }

// pageNines is where a quantile is on the axis.
func pageNines(q float64) float64 { return -math.Log10(1 - q) }

// pageLog is where a duration is on its axis: 0 is a millisecond.
func pageLog(d time.Duration) float64 {
	return math.Log10(float64(max(d, time.Microsecond)) / float64(time.Millisecond))
}

func pageCurve(l Latency, height func(time.Duration) float64) string {
	if l.Count() == 0 {
		return ""
	}
	const steps = 64
	var points strings.Builder
	for i, reach := 0, pageReach(l); i <= steps; i++ {
		nines := reach * float64(i) / steps
		d := l.Rank(1)
		if i > 0 {
			d = l.Quantile(1 - math.Pow(10, -nines))
		}
		fmt.Fprintf(&points, "%.0f,%.1f ", curveWide*nines/curveMost, height(d))
	}
	return strings.TrimSpace(points.String())
}

func pageMilliseconds(ms float64) string {
	if ms >= 1000 {
		return grouped(int64(math.Round(ms))) + " ms"
	}
	return pageDigits(ms) + " ms"
}
