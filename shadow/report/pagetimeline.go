package report

import (
	"fmt"
	"time"
)

// pageTimeline shows what was compared, minute by minute, and what was switched.
type pageTimeline struct {
	Bars  []pageColumn
	Ticks []pageTick
	Marks []pageMarker
	Desc  string
	Most  string // what the highest column stands for
	Worst string // likewise, of what diverged
	Table pageTable
	Left  string // of the marks, how many are not shown
}

// pageColumn is a minute, or a few: x and width in percent, the rest in pixels from above.
type pageColumn struct {
	X, Width               float64
	Compared, ComparedHigh float64
	Missed, MissedHigh     float64
	Diverged, DivergedHigh float64
	Title                  string
}

// pageMarker is something that was switched.
type pageMarker struct {
	Number int
	X      float64 // in percent; of no meaning unless Seen
	Seen   bool    // it is within the time shown
	Top    float64 // of its number, in pixels
	End    bool    // it is near the right edge
	When   string
	What   string
	Why    string
}

const (
	columnsMost  = 64    // columns; more would be no pixel wide on a phone
	columnsTop   = 34.0  // where the highest column ends, below the numbers of the marks
	columnsFoot  = 150.0 // where all columns stand
	divergedTop  = 160.0 // likewise of what diverged, in a lane of its own
	divergedFoot = 194.0
	marksMost    = 12
)

func newPageTimeline(r *Report) pageTimeline {
	var out pageTimeline
	buckets, step := pageBuckets(r.Timeline)
	var from, until time.Time
	if len(buckets) > 0 {
		from, until = buckets[0].At, buckets[len(buckets)-1].At.Add(step)
	}
	across := func(t time.Time) float64 { return 100 * float64(t.Sub(from)) / float64(until.Sub(from)) }
	out.columns(buckets, step, across)
	out.marks(r.Marks, from, until, across)
	return out
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
		last := &buckets[len(buckets)-1]
		last.Compared += m.Compared
		last.NotCompared += m.NotCompared
		last.Diverged += m.Diverged
	}
	return buckets, step
}

func (t *pageTimeline) columns(buckets []Minute, step time.Duration, across func(time.Time) float64) {
	t.Table = pageTable{
		Label: "Calls over time",
		Head:  pageColumns("From (UTC)", "#Compared", "#Not compared", "#Diverged"),
	}
	if len(buckets) == 0 {
		return
	}
	var sum Minute
	var most, worst int64
	for _, b := range buckets {
		most, worst = max(most, b.Compared+b.NotCompared), max(worst, b.Diverged)
		sum.Compared, sum.NotCompared, sum.Diverged = sum.Compared+b.Compared, sum.NotCompared+b.NotCompared, sum.Diverged+b.Diverged
	}
	high := func(n, of int64, room float64) float64 {
		if n <= 0 || of <= 0 {
			return 0
		}
		return max(room*float64(n)/float64(of), 1.5) // what is there must be seen
	}
	for _, b := range buckets {
		x := across(b.At)
		c := pageColumn{X: x, Width: (across(b.At.Add(step)) - x) * 0.82}
		c.ComparedHigh = high(b.Compared, most, columnsFoot-columnsTop)
		c.MissedHigh = high(b.NotCompared, most, columnsFoot-columnsTop)
		c.DivergedHigh = high(b.Diverged, worst, divergedFoot-divergedTop)
		c.Compared = columnsFoot - c.ComparedHigh
		c.Missed, c.Diverged = c.Compared-c.MissedHigh, divergedFoot-c.DivergedHigh
		c.Title = b.At.UTC().Format("15:04") + ": " + grouped(b.Compared) + " compared"
		if b.NotCompared > 0 {
			c.Title += ", " + grouped(b.NotCompared) + " not compared"
		}
		if b.Diverged > 0 {
			c.Title += ", " + grouped(b.Diverged) + " diverged"
		}
		t.Bars = append(t.Bars, c)
		diverged := pageNumberOf(b.Diverged)
		if b.Diverged > 0 {
			diverged.Mark = NotReady
		}
		t.Table.Rows = append(t.Table.Rows, []pageCell{
			{Text: b.At.UTC().Format("15:04"), Head: true}, pageNumberOf(b.Compared), pageNumberOf(b.NotCompared), diverged,
		})
	}
	per := "minute"
	if step > time.Minute {
		per = pageDuration(step)
	}
	t.Most = fmt.Sprintf("%s in a %s", grouped(most), per)
	t.Worst = "nothing diverged"
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
		t.Ticks = append(t.Ticks, pageTick{At: 25 * float64(i), Label: at.UTC().Format(layout), End: i == 4})
	}
}

func (t *pageTimeline) marks(marks []Mark, from, until time.Time, across func(time.Time) float64) {
	skipped := max(0, len(marks)-marksMost) // the latest ones matter
	for i, m := range marks[skipped:] {
		marker := pageMarker{
			Number: skipped + i + 1, When: pageTime(m.At), What: m.What, Why: m.Why,
			Seen: !from.IsZero() && !m.At.Before(from) && m.At.Before(until),
			Top:  10,
		}
		if marker.Seen {
			marker.X = across(m.At)
			marker.End = marker.X > 95
			if n := len(t.Marks); n > 0 && t.Marks[n-1].Seen && marker.X-t.Marks[n-1].X < 7 && t.Marks[n-1].Top == 10 {
				marker.Top = 23 // two that are close take turns
			}
		}
		t.Marks = append(t.Marks, marker)
	}
	if skipped > 0 {
		t.Left = grouped(int64(skipped)) + " earlier: the JSON has all of them."
	}
}
