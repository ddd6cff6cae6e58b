package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

// pageBar shows the calls of a comparator as a bar.
type pageBar struct {
	Name, What string

	Sum   string // whether the counts add up
	Mark  State
	Desc  string
	Parts []htmlpage.Part
}

func (p *page) Bars() (bars []pageBar) {
	for _, c := range Comparators() {
		if t, ok := p.Totals[c]; ok {
			bars = append(bars, newPageBar(c, t, p.unbalanced(c)))
		}
	}
	return bars
}

func newPageBar(c Comparator, t Tally, unbalanced []string) pageBar {
	bar := pageBar{Name: pageComparator(c), Mark: Ready, Sum: "Adds up", What: map[Comparator]string{
		Seeded: "the same input for both: do they compute and store the same?",
		Free:   "with all contention: is any commit lost, or applied twice?",
	}[c]}
	if len(unbalanced) > 0 {
		bar.Mark, bar.Sum = NotReady, "Does not add up. "+wrap.First(unbalanced)
	}
	missed, excused := t.missed()
	whole := max(t.Eligible, t.Compared+t.InFlight+missed+excused, 1)
	bar.Parts = htmlpage.Parts(whole, []int64{t.Compared, t.InFlight, missed, excused},
		[]string{"compared", "inflight", "missed", "excused"})
	bar.Desc = fmt.Sprintf("%s of %s calls compared, %s in flight, %s missed, %s excused",
		wrap.Grouped(t.Compared), wrap.Grouped(t.Eligible), wrap.Grouped(t.InFlight), wrap.Grouped(missed), wrap.Grouped(excused))
	return bar
}

// pageLatency shows all operations together, and the one with the worst ratio of both paths.
type pageLatency struct {
	Charts      []pageCurves
	Table, Rest *htmlpage.Table
}

func (p *page) Latency() (out pageLatency) {
	rows := slices.DeleteFunc(slices.Clone(p.Operations), func(op Operation) bool { return op.Legacy.Count()+op.Candidate.Count() == 0 })
	if len(rows) == 0 {
		return out
	}
	slices.SortStableFunc(rows, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.slowdown(), a.slowdown()), compareOperations(a, b))
	})
	legacy, candidate := p.latencies()
	out.Charts = append(out.Charts, newPageCurves("All operations", legacy, candidate))
	if worst := rows[0]; len(rows) > 1 {
		title := "Slowest against legacy, by p99: " + operationName(worst.Domain, worst.Name)
		out.Charts = append(out.Charts, newPageCurves(title, worst.Legacy, worst.Candidate))
		rows = slices.Insert(rows, 0, Operation{Name: "all", Legacy: legacy, Candidate: candidate})
	}
	first, shown := min(len(rows), 5), min(len(rows), pageRows/2)
	out.Table = latencyTable("Latency of both paths: all operations, and the slowest against legacy", rows[:first])
	out.Rest = latencyTable("Latency of both paths, the other operations", rows[first:shown])
	out.Rest.Note = htmlpage.LeftOut(len(rows), shown, "operation")
	return out
}

// slowdown is the ratio of both paths by p99; 0 if it is unknown.
func (op Operation) slowdown() float64 {
	if op.Legacy.Count() == 0 {
		return 0
	}
	return float64(op.Candidate.Quantile(0.99)) / float64(op.Legacy.Quantile(0.99))
}

func latencyTable(label string, operations []Operation) *htmlpage.Table {
	t := htmlpage.NewTable(label, "Operation", "Path", "#p50", "#p90", "#p99", "#p99.9", "#Calls")
	for _, op := range operations {
		name := htmlpage.Heading(operationName(op.Domain, op.Name))
		name.Rows = 2
		t.Row(append([]any{name, "legacy"}, pageQuantiles(op.Legacy)...)...)
		t.Row(append([]any{"candidate"}, pageQuantiles(op.Candidate)...)...)
	}
	return t
}

// pageQuantiles leaves out quantiles of too few calls: the p99.9 of a hundred is their maximum.
func pageQuantiles(l Latency) (cells []any) {
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		text := wrap.None
		if float64(l.Count())*(1-q) >= 1-1e-9 {
			text = wrap.Duration(l.Quantile(q))
		}
		cells = append(cells, figure(text))
	}
	return append(cells, l.Count())
}

// pageCurves is a chart of quantiles. The x axis is the share of faster calls, with the same room
// for every nine. The y axis is the time, logarithmic.
type pageCurves struct {
	Title, Desc       string
	Legacy, Candidate string // points of a polyline in a box of curveWide by curveHigh
	Nines, Times      []pageTick
}

// pageTick is a grid line with a label. At is in percent from the left, or in pixels from the top.
type pageTick struct {
	At    float64
	Label string
}

const (
	curveWide = 1000.0
	curveHigh = 220.0
	curveMost = 4.0 // nines
)

func newPageCurves(title string, legacy, candidate Latency) pageCurves {
	out := pageCurves{
		Title: title, Desc: "legacy " + pageInWords(legacy) + "; candidate " + pageInWords(candidate),
		Nines: []pageTick{{0, "p0"}, {7.53, "p50"}, {25, "p90"}, {50, "p99"}, {75, "p99.9"}, {100, "p99.99"}},
	}
	both := legacy.Clone()
	both.Add(candidate)
	low := math.Floor(pageLog(both.rank(1)))
	high := math.Floor(pageLog(max(legacy.Quantile(0.9999), candidate.Quantile(0.9999)))) + 1
	height := func(d time.Duration) float64 { return curveHigh * (high - pageLog(d)) / (high - low) }
	out.Legacy, out.Candidate = pageCurve(legacy, height), pageCurve(candidate, height)
	for decade := low; decade <= high; decade++ {
		d := time.Duration(math.Pow(10, decade) * float64(time.Millisecond)).Round(time.Microsecond)
		out.Times = append(out.Times, pageTick{height(d), wrap.Duration(d)})
	}
	return out
}

func pageInWords(l Latency) string {
	if l.Count() == 0 {
		return "nothing measured"
	}
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, of %s", wrap.Duration(l.Quantile(0.5)), wrap.Duration(l.Quantile(0.9)),
		wrap.Duration(l.Quantile(0.99)), wrap.Counted(l.Count(), "call"))
}

// pageLog is the place on the time axis: 0 is a millisecond.
func pageLog(d time.Duration) float64 {
	return math.Log10(float64(max(d, time.Microsecond)) / float64(time.Millisecond))
}

// pageCurve draws as many nines as the number of calls supports.
func pageCurve(l Latency, height func(time.Duration) float64) string {
	if l.Count() == 0 {
		return ""
	}
	const steps = 64
	reach := min(curveMost, math.Log10(float64(l.Count())))
	var points []string
	for i := range steps + 1 {
		nines, d := reach*float64(i)/steps, l.rank(1)
		if i > 0 {
			d = l.Quantile(1 - math.Pow(10, -nines))
		}
		points = append(points, fmt.Sprintf("%.0f,%.1f", curveWide*nines/curveMost, height(d)))
	}
	return strings.Join(points, " ")
}

// pageTimeline shows the counts by minute, and the switches.
type pageTimeline struct {
	Bars  []pageColumn
	Ticks []pageTick
	Marks []pageMarker
	Desc  string
	Most  string // the scale of the columns
	Worst string // the scale of the differences
	Table *htmlpage.Table
	Left  string // the number of marks that are not shown
}

// pageColumn is one or more minutes; X and Width are in percent.
type pageColumn struct {
	X, Width float64
	Title    string
	Parts    []pageStack
}

// pageStack is a part of a column, in pixels from the top.
type pageStack struct {
	Kind    string
	Y, High float64
}

// pageMarker is a mark in the chart.
type pageMarker struct {
	Mark
	Number int
	X      float64 // in percent, if Seen
	Seen   bool    // within the chart
	Top    float64 // of the number, in pixels
}

const (
	columnsMost  = 64    // columns; more are narrower than a pixel on a phone
	columnsHigh  = 116.0 // the highest column, below the numbers of the marks
	columnsFoot  = 150.0
	divergedHigh = 34.0 // the highest column of differences, in a lane of its own
	divergedFoot = 194.0
	marksMost    = 12
)

func (p *page) Times() *pageTimeline {
	t := &pageTimeline{Table: htmlpage.NewTable("Calls over time", "From (UTC)", "#Compared", "#Not compared", "#Diverged")}
	var from time.Time
	whole := time.Duration(1)
	if buckets, step := pageBuckets(p.Timeline); len(buckets) > 0 {
		from, whole = buckets[0].At, buckets[len(buckets)-1].At.Add(step).Sub(buckets[0].At)
		t.columns(buckets, step, whole)
	}
	skipped := max(0, len(p.Marks)-marksMost) // the latest marks matter
	if skipped > 0 {
		t.Left = wrap.Grouped(int64(skipped)) + " earlier: the JSON has all of them."
	}
	for i, m := range p.Marks[skipped:] {
		x := percentOf(m.At.Sub(from), whole)
		top := 10 + 13*float64(i%2) // two close numbers do not overlap
		t.Marks = append(t.Marks, pageMarker{m, skipped + i + 1, x, !from.IsZero() && x >= 0 && x < 100, top})
	}
	return t
}

func percentOf(part, whole time.Duration) float64 { return 100 * float64(part) / float64(whole) }

// pageBuckets adds up minutes, so that at most columnsMost columns are left.
func pageBuckets(minutes []Minute) (buckets []Minute, step time.Duration) {
	if len(minutes) == 0 {
		return nil, 0
	}
	from := minutes[0].At
	whole := minutes[len(minutes)-1].At.Sub(from) + time.Minute
	step = max(time.Minute, (whole/columnsMost + time.Minute - 1).Truncate(time.Minute))
	for _, m := range minutes {
		at := from.Add(m.At.Sub(from).Truncate(step))
		if n := len(buckets); n == 0 || !buckets[n-1].At.Equal(at) {
			buckets = append(buckets, Minute{At: at})
		}
		addUp(&buckets[len(buckets)-1], m)
	}
	return buckets, step
}

func (t *pageTimeline) columns(buckets []Minute, step, whole time.Duration) {
	var sum Minute
	var most, worst int64
	for _, b := range buckets {
		most, worst = max(most, b.calls()), max(worst, b.Diverged)
		addUp(&sum, b)
	}
	high := func(n, of int64, room float64) float64 {
		if n <= 0 {
			return 0
		}
		return max(room*float64(n)/float64(of), 1.5) // small counts are visible
	}
	words := func(m Minute) string {
		return fmt.Sprintf("%s compared, %s not compared, %s diverged",
			wrap.Grouped(m.Compared), wrap.Grouped(m.NotCompared), wrap.Grouped(m.Diverged))
	}
	from := buckets[0].At
	for _, b := range buckets {
		at := b.At.UTC().Format("15:04")
		compared, missed := high(b.Compared, most, columnsHigh), high(b.NotCompared, most, columnsHigh)
		diverged := high(b.Diverged, worst, divergedHigh)
		t.Bars = append(t.Bars, pageColumn{
			X: percentOf(b.At.Sub(from), whole), Width: 0.82 * percentOf(step, whole), Title: at + ": " + words(b),
			Parts: []pageStack{
				{"compared", columnsFoot - compared, compared},
				{"missed", columnsFoot - compared - missed, missed},
				{"diverged", divergedFoot - diverged, diverged},
			},
		})
		t.Table.Row(htmlpage.Heading(at), b.Compared, b.NotCompared, marked(b.Diverged, badIf(b.Diverged > 0)))
	}
	t.Most, t.Worst = wrap.Grouped(most)+" in "+wrap.Duration(step), "diverged, up to "+wrap.Grouped(worst)
	t.Desc = fmt.Sprintf("%s from %s: %s; at most %s", wrap.Duration(step*time.Duration(len(buckets))), wrap.Time(from), words(sum), t.Most)
	layout := "15:04"
	if whole > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	for quarter := range 5 {
		at := from.Add(whole * time.Duration(quarter) / 4)
		t.Ticks = append(t.Ticks, pageTick{25 * float64(quarter), at.UTC().Format(layout)})
	}
}
