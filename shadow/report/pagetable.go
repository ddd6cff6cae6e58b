package report

import (
	"cmp"
	"slices"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

// pageRows is the limit of rows: the page must open at once, on a phone as well.
const pageRows = 30

// Texts with a kind of cell.
type (
	code   = htmlpage.Code
	prose  = htmlpage.Prose
	figure = htmlpage.Figure
)

// classCell marks a class that blocks.
func classCell(class Class) htmlpage.Cell {
	cell := htmlpage.NewCell(code(class))
	if class.Blocks() {
		cell.Tag = "blocks"
	}
	return cell
}

func marked(value any, mark State) htmlpage.Cell {
	cell := htmlpage.NewCell(value)
	cell.Mark = string(mark)
	return cell
}

// countsRow adds a row of counts, unless all are 0. Blocking counts are marked.
func countsRow(t *htmlpage.Table, head htmlpage.Cell, always bool, counts []int64) {
	row := []any{head}
	for _, n := range counts {
		always = always || n != 0
		row = append(row, marked(n, badIf(n > 0 && head.Tag == "blocks")))
	}
	if always {
		t.Row(row...)
	}
}

func (p *page) PassedGates() *htmlpage.Table {
	t := htmlpage.NewTable("Gates that passed", "Gate", "Where", "Have", "Need", "Why")
	for _, g := range p.Verdict.in(Ready) {
		name := htmlpage.Cell{Text: g.Name, Mark: string(Ready), Head: true}
		t.Row(name, operationName(g.Domain, g.Operation), prose(g.Have), prose(g.Need), prose(g.Why))
	}
	return t.Limit(pageRows, "gate")
}

// CallsTable accounts for every call.
func (p *page) CallsTable() *htmlpage.Table {
	t := htmlpage.NewTable("Where every call went, by comparator", "Calls", "#Seeded", "#Free")
	countsRow(t, htmlpage.Heading("sampled in"), true, p.Totals.each(func(t Tally) int64 { return t.Eligible }))
	countsRow(t, htmlpage.Heading("compared"), true, p.Totals.each(func(t Tally) int64 { return t.Compared }))
	countsRow(t, htmlpage.Heading("in flight"), false, p.Totals.each(func(t Tally) int64 { return t.InFlight }))
	for _, reason := range allOf(reasons(), p.Totals, func(t Tally) map[Reason]int64 { return t.NotCompared }) {
		head := htmlpage.Cell{Text: string(reason), Sub: reason.info().means, Head: true, Kind: "code what"}
		if reason.Excused() {
			head.Tag = "excused"
		}
		countsRow(t, head, false, p.Totals.each(func(t Tally) int64 { return t.NotCompared[reason] }))
	}
	return t
}

// ClassTable counts the results of the comparisons.
func (p *page) ClassTable() *htmlpage.Table {
	t := htmlpage.NewTable("Outcome of the comparisons, by class", "Class", "#Seeded", "#Free")
	for _, class := range allOf(Classes(), p.Totals, func(t Tally) map[Class]int64 { return t.Classes }) {
		head := htmlpage.Heading(classCell(class))
		head.Sub, head.Kind = class.info().means, "code what"
		countsRow(t, head, class == Match, p.Totals.each(func(t Tally) int64 { return t.Classes[class] }))
	}
	return t
}

// HealthTable describes both paths and the shadow itself.
func (p *page) HealthTable() *htmlpage.Table {
	h, t := p.Report.Health, htmlpage.NewTable("Health of both paths and of the shadow", "What", "Value")
	row := func(name, value, sub string, mark State) {
		t.Row(htmlpage.Heading(name), htmlpage.Cell{Text: value, Sub: sub, Mark: string(mark), Kind: "wide"})
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
	took := func(name, what string, l Latency) {
		if l.Count() > 0 {
			row(name, "p50 "+wrap.Duration(l.Quantile(0.5))+", p99 "+wrap.Duration(l.Quantile(0.99)), what, "")
		}
	}
	took("lag", "from the call's end to its comparison's", h.Lag)
	took("queue wait", "until a worker took the call", h.QueueWait)
	took("lock wait", "of the candidate for other writers, in the free run", h.LockWait)
	return t
}

func (p *page) Findings() *htmlpage.Table { return p.found("Differences that block", true) }
func (p *page) Harmless() *htmlpage.Table { return p.found("Differences that do not block", false) }

// found lists differences that block, or the others, the most frequent first.
func (p *page) found(label string, blocking bool) *htmlpage.Table {
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
	t := htmlpage.NewTable(label, "Operation", "Class", "Path", "#Count", "Found by", "First", "Last")
	for _, f := range all {
		class := classCell(f.Class)
		class.Sub = f.Class.info().means
		if f.known {
			class.Tag = "known"
		}
		count := marked(f.Count, badIf(class.Tag == "blocks"))
		t.Row(htmlpage.Heading(f.where), class, code(f.Path), count, pageComparator(f.Comparator), f.First, f.Last)
	}
	return t.Limit(pageRows/2, "finding")
}

// pageLatency shows all operations together, and the one with the worst ratio of both paths.
type pageLatency struct{ Table, Rest *htmlpage.Table }

func (p *page) Latency() (out pageLatency) {
	rows := slices.DeleteFunc(slices.Clone(p.Operations), func(op Operation) bool { return op.Legacy.Count()+op.Candidate.Count() == 0 })
	if len(rows) == 0 {
		return out
	}
	slices.SortStableFunc(rows, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.slowdown(), a.slowdown()), compareOperations(a, b))
	})
	if len(rows) > 1 {
		legacy, candidate := p.latencies()
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

// Coverage lists the sample of each operation, the rate that it supports, and the closed gates.
// Operations with closed gates come first.
func (p *page) Coverage() *htmlpage.Table {
	t := htmlpage.NewTable("Coverage, by operation",
		"Operation", "State", "#Seeded", "#Free", "#Contended", "#Keys", "#Rate of differences")
	for _, o := range p.Operations {
		state, missing := p.Verdict.of(o)
		seeded := o.Tallies[Seeded]
		t.Row(
			htmlpage.Cell{Text: operationName(o.Domain, o.Name), Sub: pageCounts("", o.Outcomes), Head: true, Kind: "op"},
			htmlpage.Cell{Text: pageOr(string(state)), Sub: missing, Mark: string(state), Kind: "wide"},
			seeded.Compared, o.Tallies[Free].Compared, o.Contended,
			figure(pageKeys(o.Keys.Count())), figure(pageBound(seeded, p.Policy.Confidence)))
	}
	slices.SortStableFunc(t.Rows, func(a, b []htmlpage.Cell) int { return stateOrder(State(a[1].Mark)) - stateOrder(State(b[1].Mark)) })
	return t.Limit(pageRows, "operation")
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
		return wrap.None
	}
	return "< 1 in " + wrap.Grouped(int64(1/upper))
}

// Dirty lists the keys that diverge most.
func (p *page) Dirty() *htmlpage.Table {
	t := htmlpage.NewTable("Keys that diverge most", "Key", "Domain", "#Count", "First cause", "Path", "First seen", "By operation")
	for _, k := range p.Report.Keys {
		t.Row(htmlpage.Heading(code(k.Key)), k.Domain, k.Count, classCell(k.Class), code(k.Path), k.First, code(k.OpID))
	}
	return t.Limit(20, "key")
}

// Fleet lists the processes, and marks a mode other than the one that was set.
func (p *page) Fleet() *htmlpage.Table {
	t := htmlpage.NewTable("Fleet, by process", "Process", "In effect", "Asked for", "#Of the keys", "Seen", "Build", "#Queue", "Breaker")
	for _, one := range p.Processes {
		effect := htmlpage.Cell{Text: pageOr(one.Mode), Sub: one.Reason, Kind: "wide"}
		if one.Asked != one.Mode {
			effect.Mark, effect.Sub = string(NotReady), cmp.Or(one.Reason, "not what was asked for")
		}
		seen := htmlpage.Cell{Text: wrap.Ago(one.Seen, p.Taken), Kind: "when"}
		if p.Taken.Sub(one.Seen) > p.Policy.Silence {
			seen.Mark, seen.Sub = string(NotEnoughData), wrap.Time(one.Seen)
		}
		t.Row(htmlpage.Heading(code(one.Name)), effect, one.Asked, figure(pagePercent(one.Percent)), seen, code(one.Build), one.Queue,
			marked(one.Breaker, badIf(one.Breaker != "" && one.Breaker != "closed")))
	}
	return t.Limit(pageRows, "process")
}

// Switches lists the latest switches of operators, and of the shadow.
func (p *page) Switches() *htmlpage.Table {
	const most = 12
	t := htmlpage.NewTable("What was switched", "What", "Why", "At")
	skipped := max(0, len(p.Marks)-most)
	for _, m := range p.Marks[skipped:] {
		t.Row(htmlpage.Heading(m.What), prose(m.Why), m.At)
	}
	if skipped > 0 {
		t.Note = wrap.Grouped(int64(skipped)) + " earlier: the JSON has all of them."
	}
	return t
}

// pageDiffers compares the results of both paths for a call.
func pageDiffers(s Sample) *htmlpage.Table {
	const most = 8
	t := htmlpage.NewTable("Differences of operation "+pageOr(s.OpID), "Path", "Legacy", "Candidate")
	row := func(path any, legacy, candidate string) {
		cell := htmlpage.NewCell(code(candidate))
		if legacy != candidate {
			cell.Kind, cell.Tag = "code differs", "differs"
		}
		t.Row(htmlpage.Heading(path), code(legacy), cell)
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
