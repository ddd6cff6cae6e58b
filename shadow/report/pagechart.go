package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// pageBar is a comparator's calls as a bar.
type pageBar struct {
	Name, What string

	Sum   string // that it adds up, or that it does not
	Mark  State
	Desc  string
	Parts []pagePart
}

// pagePart is a part of it, in percent of its width.
type pagePart struct {
	Kind     string // "compared", "inflight", "missed" or "excused", as page.css has them
	From, To float64
}

// Width is how wide the part is.
func (p pagePart) Width() float64 { return p.To - p.From }

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
		bar.Mark, bar.Sum = NotReady, "Does not add up. "+firstOf(unbalanced)
	}
	missed, excused := t.missed()
	whole := max(t.Eligible, t.Compared+t.InFlight+missed+excused, 1)
	for _, part := range []struct {
		kind string
		n    int64
	}{{"compared", t.Compared}, {"inflight", t.InFlight}, {"missed", missed}, {"excused", excused}} {
		if part.n > 0 {
			bar.Parts = append(bar.Parts, pagePart{part.kind, 0, 100 * float64(part.n) / float64(whole)})
		}
	}
	pageSpread(bar.Parts)
	bar.Desc = fmt.Sprintf("%s of %s calls compared, %s in flight, %s missed, %s excused",
		grouped(t.Compared), grouped(t.Eligible), grouped(t.InFlight), grouped(missed), grouped(excused))
	return bar
}

// pageSpread puts the parts side by side. A few calls of a million would be no pixel
// wide: what is there must be seen, so the widest part makes room.
func pageSpread(parts []pagePart) {
	const least = 0.4
	over, widest, at := 0.0, 0, 0.0
	for i := range parts {
		if parts[i].To < least {
			over, parts[i].To = over+least-parts[i].To, least
		}
		if parts[i].To > parts[widest].To {
			widest = i
		}
	}
	for i := range parts {
		if i == widest {
			parts[i].To -= over
		}
		parts[i].From, parts[i].To = at, at+parts[i].To
		at = parts[i].To
	}
}

// pageLatency shows how long both paths took: all calls together, and the operation in
// which the candidate does worst against the legacy path.
type pageLatency struct {
	Charts []pageCurves
	Table  *pageTable // of all, and of the slowest
	Rest   *pageTable
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
		slower := 0.0
		if before := o.Legacy.Quantile(0.99); before > 0 {
			slower = float64(o.Candidate.Quantile(0.99)) / float64(before)
		}
		rows = append(rows, row{operationName(o.Domain, o.Name), o.Legacy, o.Candidate, slower})
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
	table := func(label string, rows []row) *pageTable {
		t := newPageTable(label, "Operation", "Path", "#p50", "#p90", "#p99", "#p99.9", "#Calls")
		for _, one := range rows {
			name := heading(one.name)
			name.Rows = 2
			t.row(append([]any{name, "legacy"}, pageQuantiles(one.legacy)...)...)
			t.row(append([]any{"candidate"}, pageQuantiles(one.candidate)...)...)
		}
		return t
	}
	first, shown := min(len(rows), 5), min(len(rows), pageRows/2)
	out.Table = table("Latency of both paths: all operations, and the slowest against legacy", rows[:first])
	out.Rest = table("Latency of both paths, the other operations", rows[first:shown])
	out.Rest.Note = pageLeftOut(len(rows), shown, "operation")
	return out
}

// pageQuantiles leaves those out that the calls are too few for: the p99.9 of a hundred
// calls is only their longest.
func pageQuantiles(l Latency) (cells []any) {
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		text := pageNone
		if float64(l.Count())*(1-q) >= 1-1e-9 {
			text = pageDuration(l.Quantile(q))
		}
		cells = append(cells, figure(text))
	}
	return append(cells, l.Count())
}

// pageCurves is a chart of quantiles: from left to right the share of the calls that are
// faster, on an axis in which every nine has the same room, from below to above the time,
// on a logarithmic one.
type pageCurves struct {
	Title, Desc       string
	Legacy, Candidate string // points of a polyline in a box of curveWide by curveHigh
	Nines, Times      []pageTick
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
	steps := []float64{1}
	if high-low < 2.5 {
		steps = []float64{1, 2, 5}
	}
	for decade := math.Floor(low); decade <= high; decade++ {
		for _, step := range steps {
			ms := step * math.Pow(10, decade)
			if at := height(time.Duration(ms * float64(time.Millisecond))); at >= 0 && at <= curveHigh {
				out.Times = append(out.Times, pageTick{At: at, Label: pageMilliseconds(ms)})
			}
		}
	}
	return out
}

func pageInWords(l Latency) string {
	if l.Count() == 0 {
		return "nothing measured"
	}
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, of %s", pageDuration(l.Quantile(0.5)), pageDuration(l.Quantile(0.9)),
		pageDuration(l.Quantile(0.99)), counted(l.Count(), "call"))
}

// pageReach is up to how many nines the calls tell something.
func pageReach(l Latency) float64 { return min(curveMost, math.Log10(float64(max(l.Count(), 1)))) }

// pageLog is where a duration is on its axis: 0 is a millisecond.
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

func pageMilliseconds(ms float64) string {
	if ms >= 1000 {
		return grouped(int64(math.Round(ms))) + " ms"
	}
	return pageDigits(ms) + " ms"
}

// pageTimeline shows what was compared, minute by minute, and what was switched.
type pageTimeline struct {
	Bars  []pageColumn
	Ticks []pageTick
	Marks []pageMarker
	Desc  string
	Most  string // what the highest column stands for
	Worst string // likewise, of what diverged
	Table *pageTable
	Left  string // of the marks, how many are not shown
}

// pageColumn is a minute, or a few: x and width in percent.
type pageColumn struct {
	X, Width float64
	Title    string
	Parts    []pageStack
}

// pageStack is a part of it, in pixels from above.
type pageStack struct {
	Kind    string
	Y, High float64
}

// pageMarker is something that was switched.
type pageMarker struct {
	Mark
	Number int
	X      float64 // in percent; of no meaning unless Seen
	Seen   bool    // it is within the time shown
	Top    float64 // of its number, in pixels
	End    bool    // it is near the right edge
}

const (
	columnsMost  = 64    // columns; more would be no pixel wide on a phone
	columnsHigh  = 116.0 // how high one can be, below the numbers of the marks
	columnsFoot  = 150.0 // where all columns stand
	divergedHigh = 34.0  // likewise of what diverged, in a lane of its own
	divergedFoot = 194.0
	marksMost    = 12
)

func (p *page) Times() *pageTimeline { return newPageTimeline(p.Report) }

func newPageTimeline(r *Report) *pageTimeline {
	t := &pageTimeline{Table: newPageTable("Calls over time", "From (UTC)", "#Compared", "#Not compared", "#Diverged")}
	buckets, step := pageBuckets(r.Timeline)
	var from, until time.Time
	if len(buckets) > 0 {
		from, until = buckets[0].At, buckets[len(buckets)-1].At.Add(step)
	}
	across := func(at time.Time) float64 { return 100 * float64(at.Sub(from)) / float64(until.Sub(from)) }
	t.columns(buckets, step, across)
	skipped := max(0, len(r.Marks)-marksMost) // the latest ones matter
	if skipped > 0 {
		t.Left = grouped(int64(skipped)) + " earlier: the JSON has all of them."
	}
	for i, m := range r.Marks[skipped:] {
		marker := pageMarker{Mark: m, Number: skipped + i + 1, Top: 10}
		if marker.Seen = !from.IsZero() && !m.At.Before(from) && m.At.Before(until); marker.Seen {
			marker.X = across(m.At)
			marker.End = marker.X > 95
			if i > 0 && t.Marks[i-1].Seen && marker.X-t.Marks[i-1].X < 7 && t.Marks[i-1].Top == 10 {
				marker.Top = 23 // two that are close take turns
			}
		}
		t.Marks = append(t.Marks, marker)
	}
	return t
}

// pageBuckets puts as many minutes together as are needed to have few enough.
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

func (t *pageTimeline) columns(buckets []Minute, step time.Duration, across func(time.Time) float64) {
	if len(buckets) == 0 {
		return
	}
	var sum Minute
	var most, worst int64
	for _, b := range buckets {
		most, worst = max(most, b.calls()), max(worst, b.Diverged)
		addUp(&sum, b)
	}
	for _, b := range buckets {
		x, at := across(b.At), b.At.UTC().Format("15:04")
		c := pageColumn{X: x, Width: (across(b.At.Add(step)) - x) * 0.82, Title: at + ": " + grouped(b.Compared) + " compared"}
		part := func(kind string, n, of int64, foot, room float64, told string) float64 {
			if n <= 0 || of <= 0 {
				return foot
			}
			high := max(room*float64(n)/float64(of), 1.5) // what is there must be seen
			c.Parts = append(c.Parts, pageStack{kind, foot - high, high})
			c.Title += told
			return foot - high
		}
		top := part("compared", b.Compared, most, columnsFoot, columnsHigh, "")
		part("missed", b.NotCompared, most, top, columnsHigh, ", "+grouped(b.NotCompared)+" not compared")
		part("diverged", b.Diverged, worst, divergedFoot, divergedHigh, ", "+grouped(b.Diverged)+" diverged")
		t.Bars = append(t.Bars, c)
		t.Table.row(heading(at), b.Compared, b.NotCompared, marked(b.Diverged, badIf(b.Diverged > 0)))
	}
	per := "minute"
	if step > time.Minute {
		per = pageDuration(step)
	}
	t.Most, t.Worst = fmt.Sprintf("%s in a %s", grouped(most), per), "nothing diverged"
	if worst > 0 {
		t.Worst = fmt.Sprintf("diverged: up to %s in a %s", grouped(worst), per)
	}
	t.Desc = fmt.Sprintf("%s from %s: %s compared, %s not compared, %s diverged; at most %s",
		pageDuration(step*time.Duration(len(buckets))), pageTime(buckets[0].At),
		grouped(sum.Compared), grouped(sum.NotCompared), grouped(sum.Diverged), t.Most)
	from, whole := buckets[0].At, buckets[len(buckets)-1].At.Add(step).Sub(buckets[0].At)
	layout := "15:04"
	if whole > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	for i := range 5 {
		at := from.Add(whole * time.Duration(i) / 4)
		t.Ticks = append(t.Ticks, pageTick{25 * float64(i), at.UTC().Format(layout), i == 4})
	}
}
