package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// pageTable is a table that scrolls where the window is too narrow.
type pageTable struct {
	Label string // for screen readers
	Head  []pageCell
	Rows  [][]pageCell
	Note  string // beneath
}

// pageRows is the limit of rows: the page must open at once, on a phone as well.
const pageRows = 30

type pageCell struct {
	Text string
	Sub  string // small, on a line of its own
	Kind string // a class of page.css: "", "num", "code" or "wide"
	Mark State  // a sign and a word before the text, unless empty
	Tag  string // in a frame, after the text
	Head bool   // names its row
	Rows int    // rowspan; 0 is 1
}

// Texts with a kind of cell.
type (
	code   string // an identifier
	prose  string // several lines
	figure string // a number with a unit
)

// newPageTable names the columns. A name that begins with # marks a column of numbers.
func newPageTable(label string, columns ...string) *pageTable {
	t := &pageTable{Label: label}
	for _, name := range columns {
		cell := pageCell{Text: name}
		if text, ok := strings.CutPrefix(name, "#"); ok {
			cell = pageCell{Text: text, Kind: "num"}
		}
		t.Head = append(t.Head, cell)
	}
	return t
}

func newCell(value any) pageCell {
	switch v := value.(type) {
	case pageCell:
		return v
	case code:
		return pageCell{Text: pageOr(string(v)), Kind: "code"}
	case prose:
		return pageCell{Text: pageOr(string(v)), Kind: "wide"}
	case figure:
		return pageCell{Text: string(v), Kind: "num"}
	case time.Time:
		return pageCell{Text: pageTime(v), Kind: "when"}
	case int64:
		if v == 0 {
			return pageCell{Text: "0", Kind: "num zero"}
		}
		return pageCell{Text: wrap.Grouped(v), Kind: "num"}
	case Class:
		cell := newCell(code(v))
		if v.Blocks() {
			cell.Tag = "blocks"
		}
		return cell
	default:
		return pageCell{Text: pageOr(fmt.Sprint(v))}
	}
}

func heading(value any) pageCell {
	cell := newCell(value)
	cell.Head = true
	return cell
}

func marked(value any, mark State) pageCell {
	cell := newCell(value)
	cell.Mark = mark
	return cell
}

func (t *pageTable) row(values ...any) {
	var cells []pageCell
	for _, value := range values {
		cells = append(cells, newCell(value))
	}
	t.Rows = append(t.Rows, cells)
}

// counts adds a row of counts, unless all are 0. Blocking counts are marked.
func (t *pageTable) counts(head pageCell, always bool, counts []int64) {
	row := []any{head}
	for _, n := range counts {
		always = always || n != 0
		row = append(row, marked(n, badIf(n > 0 && head.Tag == "blocks")))
	}
	if always {
		t.row(row...)
	}
}

func (t *pageTable) limit(most int, noun string) *pageTable {
	t.Note = pageLeftOut(len(t.Rows), most, noun)
	t.Rows = t.Rows[:min(len(t.Rows), most)]
	return t
}

// pageLeftOut counts the items that are not shown.
func pageLeftOut(all, shown int, noun string) string {
	if all <= shown {
		return ""
	}
	return wrap.Counted(all-shown, noun) + " more: the JSON has all of them."
}

func (p *page) PassedGates() *pageTable {
	t := newPageTable("Gates that passed", "Gate", "Where", "Have", "Need", "Why")
	for _, g := range p.Verdict.in(Ready) {
		name := pageCell{Text: g.Name, Mark: Ready, Head: true}
		t.row(name, operationName(g.Domain, g.Operation), prose(g.Have), prose(g.Need), prose(g.Why))
	}
	return t.limit(pageRows, "gate")
}

// CallsTable accounts for every call.
func (p *page) CallsTable() *pageTable {
	t := newPageTable("Where every call went, by comparator", "Calls", "#Seeded", "#Lockstep", "#Free")
	t.counts(heading("sampled in"), true, p.Totals.each(func(t Tally) int64 { return t.Eligible }))
	t.counts(heading("compared"), true, p.Totals.each(func(t Tally) int64 { return t.Compared }))
	t.counts(heading("in flight"), false, p.Totals.each(func(t Tally) int64 { return t.InFlight }))
	for _, reason := range allOf(reasons(), p.Totals, func(t Tally) map[Reason]int64 { return t.NotCompared }) {
		head := pageCell{Text: string(reason), Sub: reason.info().means, Head: true, Kind: "code what"}
		if reason.Excused() {
			head.Tag = "excused"
		}
		t.counts(head, false, p.Totals.each(func(t Tally) int64 { return t.NotCompared[reason] }))
	}
	return t
}

// ClassTable counts the results of the comparisons.
func (p *page) ClassTable() *pageTable {
	t := newPageTable("Outcome of the comparisons, by class", "Class", "#Seeded", "#Lockstep", "#Free")
	verified := p.Report.Verify.Findings
	if len(verified) > 0 {
		t.Head = append(t.Head, pageCell{Text: "End state", Kind: "num"})
	}
	for _, class := range allOf(Classes(), p.Totals, func(t Tally) map[Class]int64 { return t.Classes }) {
		head := heading(class)
		head.Sub, head.Kind = class.info().means, "code what"
		counts := p.Totals.each(func(t Tally) int64 { return t.Classes[class] })
		if len(verified) > 0 {
			counts = append(counts, verified[class])
		}
		t.counts(head, class == Match, counts)
	}
	return t
}

// HealthTable describes both paths and the shadow itself.
func (p *page) HealthTable() *pageTable {
	h, t := p.Report.Health, newPageTable("Health of both paths and of the shadow", "What", "Value")
	row := func(name, value, sub string, mark State) {
		t.row(heading(name), pageCell{Text: value, Sub: sub, Mark: mark, Kind: "wide"})
	}
	row("legacy path", wrap.Counted(h.Legacy.Calls, "call"), pageCounts("errors: ", h.Legacy.Errors), "")
	row("candidate", wrap.Counted(h.Candidate.Calls, "call"), pageCounts("errors: ", h.Candidate.Errors), "")
	trips := "never opened"
	if h.BreakerTrips != 0 {
		trips = "opened " + wrap.Counted(h.BreakerTrips, "time")
	}
	row("breaker", pageOr(h.Breaker), trips, pageMark(h.Breaker == "closed", h.Breaker != ""))
	row("queue", wrap.Counted(h.Queue, "call")+", "+pageBytes(h.QueueBytes), "at most "+wrap.Counted(h.QueueMost, "call")+" at once", "")
	if h.Panics > 0 {
		row("panics", wrap.Grouped(h.Panics), "of the shadow's own code", NotReady)
	}
	if len(h.Resyncs) > 0 {
		row("keys copied anew", pageCounts("", h.Resyncs), "", "")
	}
	took := func(name, what string, l Latency) {
		if l.Count() > 0 {
			row(name, "p50 "+pageDuration(l.Quantile(0.5))+", p99 "+pageDuration(l.Quantile(0.99)), what, "")
		}
	}
	took("lag", "from the call's end to its comparison's", h.Lag)
	took("queue wait", "until a worker took the call", h.QueueWait)
	took("lock wait", "of the candidate for other writers, in the free run", h.LockWait)
	return t
}

func (p *page) Findings() *pageTable { return p.found("Differences that block", true) }
func (p *page) Harmless() *pageTable { return p.found("Differences that do not block", false) }

// found lists differences that block, or the others, the most frequent first.
func (p *page) found(label string, blocking bool) *pageTable {
	type found struct {
		where string
		known bool
		Finding
	}
	var all []found
	for _, o := range p.Operations {
		for _, f := range o.Findings {
			if known := p.Policy.knows(o.Domain, o.Name, f.Class, f.Path); blocking == (f.Class.Blocks() && !known) {
				all = append(all, found{operationName(o.Domain, o.Name), known, f})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.where, b.where))
	})
	t := newPageTable(label, "Operation", "Class", "Path", "#Count", "Found by", "First", "Last")
	for _, f := range all {
		class := newCell(f.Class)
		class.Sub = f.Class.info().means
		if f.known {
			class.Tag = "known"
		}
		count := marked(f.Count, badIf(class.Tag == "blocks"))
		t.row(heading(f.where), class, code(f.Path), count, pageComparator(f.Comparator), f.First, f.Last)
	}
	return t.limit(pageRows/2, "finding")
}

// Coverage lists the sample of each operation, the rate that it supports, and the closed gates.
// Operations with closed gates come first.
func (p *page) Coverage() *pageTable {
	t := newPageTable("Coverage, by operation",
		"Operation", "State and what is missing", "#Seeded", "#Lockstep", "#Free", "#Contended", "#Keys", "#Rate of differences")
	for _, o := range p.Operations {
		state, missing := p.Verdict.of(o)
		seeded := o.Tallies[Seeded]
		t.row(
			pageCell{Text: operationName(o.Domain, o.Name), Sub: pageCounts("", o.Outcomes), Head: true, Kind: "op"},
			pageCell{Text: pageOr(string(state)), Sub: missing, Mark: state, Kind: "wide"},
			seeded.Compared, o.Tallies[Lockstep].Compared, o.Tallies[Free].Compared, o.Contended,
			figure(pageKeys(o.Keys.Count())), figure(pageBound(seeded, p.Policy.Confidence)))
	}
	slices.SortStableFunc(t.Rows, func(a, b []pageCell) int { return stateOrder(a[1].Mark) - stateOrder(b[1].Mark) })
	return t.limit(pageRows, "operation")
}

// pageKeys writes the estimate of a sketch.
func pageKeys(n int64) string {
	switch {
	case n == 0:
		return "0"
	case n > 100_000:
		return "> 100,000"
	default:
		return "≈ " + wrap.Grouped(n)
	}
}

// pageBound writes the upper bound of the rate of blocking differences.
func pageBound(t Tally, confidence float64) string {
	upper := rateUpper(blocked(t.Classes), t.Compared, confidence)
	if upper > 0.5 {
		return pageNone
	}
	return "< 1 in " + wrap.Grouped(int64(1/upper))
}

// EndState has the findings of the verifier.
func (p *page) EndState() *pageTable {
	v, t := p.Report.Verify, newPageTable("End state", "What", "#Keys", "Meaning")
	row := func(name string, n int64, meaning string, mark State) {
		t.row(heading(name), marked(n, mark), prose(meaning))
	}
	some := func(name string, n int64, meaning string, mark State) {
		if n > 0 {
			row(name, n, meaning, mark)
		}
	}
	row("touched", v.Touched, "keys that were called, and are to be compared", "")
	row("checked", v.Checked, "of those, in the last round", "")
	row("equal", v.Equal, "of those, with their expiry", v.mark())
	some("pending", v.Pending, "differed, and are looked at again", "")
	some("unknown", v.Unknown, "could not be read, or moved all the time", "")
	some("untimed", v.Untimed, "equal, but a store cannot tell expiries", "")
	some("evicted", v.Evicted, "had no room in the registry, and are never checked", "")
	for _, class := range Classes() {
		some(string(class), v.Findings[class], "confirmed since the start: "+class.info().means, badIf(class.Blocks()))
	}
	return t
}

// Dirty lists the keys that diverge most.
func (p *page) Dirty() *pageTable {
	t := newPageTable("Keys that diverge most", "Key", "Domain", "#Count", "First cause", "Path", "First seen", "By operation")
	for _, k := range p.Report.Keys {
		t.row(heading(code(k.Key)), k.Domain, k.Count, k.Class, code(k.Path), k.First, code(k.OpID))
	}
	return t.limit(20, "key")
}

// Fleet lists the processes, and marks those whose mode is not the one that was set.
func (p *page) Fleet() *pageTable {
	t := newPageTable("Fleet, by process", "Process", "In effect", "Asked for", "#Of the keys", "Seen", "Build", "#Queue", "Breaker")
	for _, one := range p.Processes {
		effect := pageCell{Text: pageOr(one.Mode), Sub: one.Reason, Kind: "wide"}
		if one.Asked != one.Mode {
			effect.Mark, effect.Sub = NotReady, cmp.Or(one.Reason, "not what was asked for")
		}
		seen := pageCell{Text: pageAgo(one.Seen, p.Taken), Kind: "when"}
		if p.Taken.Sub(one.Seen) > p.Policy.Silence {
			seen.Mark, seen.Sub = NotEnoughData, pageTime(one.Seen)
		}
		t.row(heading(code(one.Name)), effect, one.Asked, figure(pagePercent(one.Percent)), seen, code(one.Build), one.Queue,
			marked(one.Breaker, badIf(one.Breaker != "" && one.Breaker != "closed")))
	}
	return t.limit(pageRows, "process")
}

// pageDiffers compares the results of both paths for a call.
func pageDiffers(s Sample) *pageTable {
	const most = 8
	t := newPageTable("Differences of operation "+pageOr(s.OpID), "Path", "Legacy", "Candidate")
	row := func(path any, legacy, candidate string) {
		cell := newCell(code(candidate))
		if legacy != candidate {
			cell.Kind, cell.Tag = "code differs", "differs"
		}
		t.row(heading(path), code(legacy), cell)
	}
	for _, d := range s.Differences[:min(len(s.Differences), most)] {
		row(code(d.Path), d.Legacy, d.Candidate)
	}
	row("answered", s.Legacy, s.Candidate)
	if s.LegacyExpiry != "" || s.CandidateExpiry != "" {
		row("expires in", pageExpiry(s.LegacyExpiry), pageExpiry(s.CandidateExpiry))
	}
	if more := s.More + max(0, len(s.Differences)-most); more > 0 {
		t.Note = wrap.Counted(more, "difference") + " more not listed."
	}
	return t
}
