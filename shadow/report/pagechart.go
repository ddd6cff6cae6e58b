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
		Seeded:   "the same input for both: do they compute and store the same?",
		Lockstep: "the same order for both: do the stores stay the same?",
		Free:     "with all contention: is any commit lost, or applied twice?",
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
	type row struct {
		name              string
		legacy, candidate Latency
		ratio             float64
	}
	var rows []row
	for _, o := range p.Operations {
		if o.Legacy.Count() == 0 && o.Candidate.Count() == 0 {
			continue
		}
		ratio := 0.0
		if before := o.Legacy.Quantile(0.99); before > 0 {
			ratio = float64(o.Candidate.Quantile(0.99)) / float64(before)
		}
		rows = append(rows, row{operationName(o.Domain, o.Name), o.Legacy, o.Candidate, ratio})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.name, b.name)) })
	if len(rows) == 0 {
		return out
	}
	legacy, candidate := p.latencies()
	out.Charts = append(out.Charts, newPageCurves("All operations", legacy, candidate))
	if len(rows) > 1 {
		out.Charts = append(out.Charts, newPageCurves("Slowest against legacy, by p99: "+rows[0].name, rows[0].legacy, rows[0].candidate))
		rows = slices.Insert(rows, 0, row{"all", legacy, candidate, 0})
	}
	table := func(label string, rows []row) *htmlpage.Table {
		t := htmlpage.NewTable(label, "Operation", "Path", "#p50", "#p90", "#p99", "#p99.9", "#Calls")
		for _, one := range rows {
			name := htmlpage.Heading(one.name)
			name.Rows = 2
			t.Row(append([]any{name, "legacy"}, pageQuantiles(one.legacy)...)...)
			t.Row(append([]any{"candidate"}, pageQuantiles(one.candidate)...)...)
		}
		return t
	}
	first, shown := min(len(rows), 5), min(len(rows), pageRows/2)
	out.Table = table("Latency of both paths: all operations, and the slowest against legacy", rows[:first])
	out.Rest = table("Latency of both paths, the other operations", rows[first:shown])
	out.Rest.Note = htmlpage.LeftOut(len(rows), shown, "operation")
	return out
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
	End   bool // the label is right-aligned at the edge
}

const (
	curveWide = 1000.0
	curveHigh = 220.0
	curveMost = 4.0 // nines
)

func newPageCurves(title string, legacy, candidate Latency) pageCurves {
	out := pageCurves{Title: title, Desc: "legacy " + pageInWords(legacy) + "; candidate " + pageInWords(candidate)}
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range []Latency{legacy, candidate} {
		if l.Count() > 0 {
			low = min(low, pageLog(l.rank(1)))
			high = max(high, pageLog(l.Quantile(1-math.Pow(10, -pageReach(l)))))
		}
	}
	low, high = math.Floor(low*3)/3, math.Ceil(high*3)/3
	if high-low < 1 {
		high = low + 1
	}
	height := func(d time.Duration) float64 { return curveHigh * (high - pageLog(d)) / (high - low) }
	out.Legacy, out.Candidate = pageCurve(legacy, height), pageCurve(candidate, height)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999} {
		at := 100 * -math.Log10(1-q) / curveMost
		out.Nines = append(out.Nines, pageTick{at, fmt.Sprintf("p%v", math.Round(1e4*q)/100), at > 99})
	}
	steps := []float64{1, 2, 5}
	if high-low >= 2.5 {
		steps = steps[:1]
	}
	for decade := math.Floor(low); decade <= high; decade++ {
		for _, step := range steps {
			ms := step * math.Pow(10, decade)
			label := wrap.Digits(ms)
			if ms >= 1000 {
				label = wrap.Grouped(int64(math.Round(ms)))
			}
			if at := height(time.Duration(ms * float64(time.Millisecond))); at >= 0 && at <= curveHigh {
				out.Times = append(out.Times, pageTick{At: at, Label: label + " ms"})
			}
		}
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

// pageReach is the number of nines that the sample supports.
func pageReach(l Latency) float64 { return min(curveMost, math.Log10(float64(max(l.Count(), 1)))) }

// pageLog is the place on the time axis: 0 is a millisecond.
func pageLog(d time.Duration) float64 {
	return math.Log10(float64(max(d, time.Microsecond)) / float64(time.Millisecond))
}

func pageCurve(l Latency, height func(time.Duration) float64) string {
	if l.Count() == 0 {
		return ""
	}
	const steps = 64
	var points []string
	for i := range steps + 1 {
		nines, d := pageReach(l)*float64(i)/steps, l.rank(1)
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
	End    bool    // near the right edge
}

const (
	columnsMost  = 64    // columns; more are narrower than a pixel on a phone
	columnsHigh  = 116.0 // the highest column, below the numbers of the marks
	columnsFoot  = 150.0
	divergedHigh = 34.0 // the highest column of differences, in a lane of its own
	divergedFoot = 194.0
	marksMost    = 12
)

func (p *page) Times() *pageTimeline { return newPageTimeline(p.Report) }

func newPageTimeline(r *Report) *pageTimeline {
	t := &pageTimeline{Table: htmlpage.NewTable("Calls over time", "From (UTC)", "#Compared", "#Not compared", "#Diverged")}
	buckets, step := pageBuckets(r.Timeline)
	var from, until time.Time
	if len(buckets) > 0 {
		from, until = buckets[0].At, buckets[len(buckets)-1].At.Add(step)
		t.columns(buckets, step, from, until)
	}
	skipped := max(0, len(r.Marks)-marksMost) // the latest marks matter
	if skipped > 0 {
		t.Left = wrap.Grouped(int64(skipped)) + " earlier: the JSON has all of them."
	}
	for i, m := range r.Marks[skipped:] {
		marker := pageMarker{Mark: m, Number: skipped + i + 1, Top: 10}
		if marker.Seen = !from.IsZero() && !m.At.Before(from) && m.At.Before(until); marker.Seen {
			marker.X = across(m.At, from, until)
			marker.End = marker.X > 95
			if i > 0 && t.Marks[i-1].Seen && marker.X-t.Marks[i-1].X < 7 && t.Marks[i-1].Top == 10 {
				marker.Top = 23 // two close numbers do not overlap
			}
		}
		t.Marks = append(t.Marks, marker)
	}
	return t
}

// across is the place of a time in the chart, in percent.
func across(at, from, until time.Time) float64 {
	return 100 * float64(at.Sub(from)) / float64(until.Sub(from))
}

// pageBuckets adds up minutes, so that at most columnsMost columns are left.
func pageBuckets(minutes []Minute) (buckets []Minute, step time.Duration) {
	if len(minutes) == 0 {
		return nil, time.Minute
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

func (t *pageTimeline) columns(buckets []Minute, step time.Duration, from, until time.Time) {
	var sum Minute
	var most, worst int64
	for _, b := range buckets {
		most, worst = max(most, b.calls()), max(worst, b.Diverged)
		addUp(&sum, b)
	}
	for _, b := range buckets {
		x, at := across(b.At, from, until), b.At.UTC().Format("15:04")
		width := (across(b.At.Add(step), from, until) - x) * 0.82
		c := pageColumn{X: x, Width: width, Title: at + ": " + wrap.Grouped(b.Compared) + " compared"}
		part := func(kind string, n, of int64, foot, room float64, told string) float64 {
			if n <= 0 || of <= 0 {
				return foot
			}
			high := max(room*float64(n)/float64(of), 1.5) // small counts are visible
			c.Parts = append(c.Parts, pageStack{kind, foot - high, high})
			c.Title += told
			return foot - high
		}
		top := part("compared", b.Compared, most, columnsFoot, columnsHigh, "")
		part("missed", b.NotCompared, most, top, columnsHigh, ", "+wrap.Grouped(b.NotCompared)+" not compared")
		part("diverged", b.Diverged, worst, divergedFoot, divergedHigh, ", "+wrap.Grouped(b.Diverged)+" diverged")
		t.Bars = append(t.Bars, c)
		t.Table.Row(htmlpage.Heading(at), b.Compared, b.NotCompared, marked(b.Diverged, badIf(b.Diverged > 0)))
	}
	per := "minute"
	if step > time.Minute {
		per = wrap.Duration(step)
	}
	t.Most, t.Worst = fmt.Sprintf("%s in a %s", wrap.Grouped(most), per), "nothing diverged"
	if worst > 0 {
		t.Worst = fmt.Sprintf("diverged: up to %s in a %s", wrap.Grouped(worst), per)
	}
	t.Desc = fmt.Sprintf("%s from %s: %s compared, %s not compared, %s diverged; at most %s",
		wrap.Duration(step*time.Duration(len(buckets))), wrap.Time(from),
		wrap.Grouped(sum.Compared), wrap.Grouped(sum.NotCompared), wrap.Grouped(sum.Diverged), t.Most)
	whole, layout := until.Sub(from), "15:04"
	if whole > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	for i := range 5 {
		at := from.Add(whole * time.Duration(i) / 4)
		t.Ticks = append(t.Ticks, pageTick{25 * float64(i), at.UTC().Format(layout), i == 4})
	}
}
