package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// pageVerdict is what whoever opens the page must see first.
type pageVerdict struct {
	State    State
	Headline string // without the state
	Cause    string
	Blocked  []Gate
	Missing  []Gate // undecided
	More     string // of the two above, how many are not shown
	Tiles    []pageTile
	Passed   string // all in a line
	Gates    *pageTable
}

// pageTile is a number that sums up a section.
type pageTile struct {
	Label, Value, Sub string
	Mark              State
}

// pageGates is how many gates are listed one by one; a fleet has hundreds while it warms up.
const pageGates = 16

func newPageVerdict(r *Report, v Verdict) pageVerdict {
	out := pageVerdict{State: v.State, Headline: pageHeadline(v), Cause: v.Cause, Tiles: pageTiles(r)}
	if strings.Contains(v.Headline, v.Cause) {
		out.Cause = ""
	}
	passed, names, counts := [][]pageCell{}, []string{}, map[string]int{}
	listed := 0
	for _, g := range v.Gates {
		switch g.State {
		case Ready:
			if counts[g.Name] == 0 {
				names = append(names, g.Name)
			}
			counts[g.Name]++
			passed = append(passed, []pageCell{
				{Text: g.Name, Mark: Ready, Head: true}, pageText(operationName(g.Domain, g.Operation)),
				pageProse(g.Have), pageProse(g.Need), pageProse(g.Why),
			})
			continue
		case NotReady:
			out.Blocked = append(out.Blocked, g)
		default:
			out.Missing = append(out.Missing, g)
		}
		listed++
	}
	if len(out.Blocked) > pageGates {
		out.Blocked = out.Blocked[:pageGates]
	}
	if rest := max(pageGates-len(out.Blocked), 6); len(out.Missing) > rest {
		out.Missing = out.Missing[:rest]
	}
	out.More = pageLeftOut(listed, len(out.Blocked)+len(out.Missing), "gate")
	if len(passed) == 0 {
		return out
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = fmt.Sprintf("%s × %d", name, counts[name])
		}
	}
	out.Passed = fmt.Sprintf("%s passed: %s", pagePlural(len(passed), "gate"), strings.Join(names, ", "))
	out.Gates = &pageTable{Label: "Gates that passed", Head: pageColumns("Gate", "Where", "Have", "Need", "Why")}
	out.Gates.Rows = passed[:min(len(passed), pageRows)]
	out.Gates.Note = pageLeftOut(len(passed), len(out.Gates.Rows), "gate")
	return out
}

// pageHeadline is the headline without the state, which stands above it.
func pageHeadline(v Verdict) string {
	text := v.Headline
	if n := len(v.State); len(text) >= n && strings.EqualFold(text[:n], string(v.State)) {
		text = strings.TrimLeft(text[n:], ":. ")
	}
	// The name of an operation is spelt as it is.
	if word, _, _ := strings.Cut(text, " "); word != "" && !strings.ContainsAny(word, "/._") {
		first, size := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	return text
}

func pageTiles(r *Report) []pageTile {
	total := r.pageTotals()
	seeded := total[Seeded]
	var compared, blocking, excused, missing int64
	for _, c := range Comparators() {
		t := total[c]
		compared += t.Compared
		for class, n := range t.Classes {
			if class.Blocks() {
				blocking += n
			}
		}
		for reason, n := range t.NotCompared {
			if reason.Excused() {
				excused += n
			} else {
				missing += n
			}
		}
	}
	for class, n := range r.Verify.Findings {
		if class.Blocks() {
			blocking += n
		}
	}
	tiles := []pageTile{
		{Label: "Differences that block", Value: grouped(blocking), Sub: "in " + pagePlural(compared, "comparison"),
			Mark: pageMark(blocking == 0, compared > 0)},
		{Label: "Calls compared", Value: grouped(seeded.Compared),
			Sub: "with the same input, in " + pagePlural(len(r.Operations), "operation")},
		{Label: "Not compared", Value: pageShare(missing, compared+missing), Sub: pageExcuse(missing, excused)},
	}
	legacy, candidate := r.pageLatencies()
	p99 := pageTile{Label: "p99, candidate", Value: pageNone, Sub: "nothing measured yet"}
	if candidate.Count() > 0 {
		p99.Value = pageDuration(candidate.Quantile(0.99))
		p99.Sub = "legacy " + pageDuration(legacy.Quantile(0.99))
	}
	return append(tiles, p99, pageEndState(r))
}

func pageExcuse(missing, excused int64) string {
	text := pagePlural(missing, "comparison") + " missed"
	if excused > 0 {
		text += ", " + grouped(excused) + " excused"
	}
	return text
}

func pageEndState(r *Report) pageTile {
	v := r.Verify
	tile := pageTile{Label: "End state", Value: pageNone, Sub: "not verified yet"}
	if v.Rounds > 0 {
		tile.Value = pageShare(v.Equal, v.Checked)
		tile.Sub = fmt.Sprintf("%s of %s keys equal", grouped(v.Equal), grouped(v.Checked))
		tile.Mark = v.pageMark()
	}
	return tile
}

// pageMark is how the end state stands: what is looked at again is not decided.
func (v Verify) pageMark() State {
	for class, n := range v.Findings {
		if class.Blocks() && n > 0 {
			return NotReady
		}
	}
	switch {
	case v.Rounds == 0 || v.Checked == 0:
		return ""
	case v.Equal == v.Checked:
		return Ready
	case v.Equal+v.Pending+v.Unknown >= v.Checked:
		return NotEnoughData
	default:
		return NotReady
	}
}

// pageMark is what a number says by itself; the gates say more.
func pageMark(good, enough bool) State {
	switch {
	case !enough:
		return ""
	case good:
		return Ready
	default:
		return NotReady
	}
}

// pageTotals sums the tallies of all operations up.
func (r *Report) pageTotals() map[Comparator]Tally {
	out := map[Comparator]Tally{}
	for _, o := range r.Operations {
		for c, t := range o.Tallies {
			sum, ok := out[c]
			if !ok {
				sum = Tally{NotCompared: map[Reason]int64{}, Classes: map[Class]int64{}}
			}
			sum.Eligible += t.Eligible
			sum.Compared += t.Compared
			sum.InFlight += t.InFlight
			for reason, n := range t.NotCompared {
				sum.NotCompared[reason] += n
			}
			for class, n := range t.Classes {
				sum.Classes[class] += n
			}
			out[c] = sum
		}
	}
	return out
}

// pageLatencies sums the latencies of all operations up.
func (r *Report) pageLatencies() (legacy, candidate Latency) {
	for _, o := range r.Operations {
		legacy.Add(o.Legacy)
		candidate.Add(o.Candidate)
	}
	return legacy, candidate
}

// pageModeText says what a mode means.
func pageModeText(r *Report) string {
	switch r.Mode {
	case "":
		return "Mode unknown"
	case "off":
		return "Off: nothing is compared"
	case "shadow":
		return "Shadow: the legacy path serves"
	case "reverse":
		return "Reverse: the candidate serves"
	case "mixed":
		return "Mixed: the processes do not agree"
	default:
		return r.Mode
	}
}

// pageUp is how long the report covers.
func pageUp(r *Report) string {
	if d := r.Taken.Sub(r.Started); d >= time.Second && !r.Started.IsZero() {
		return pageDuration(d.Truncate(time.Second))
	}
	return "just started"
}
