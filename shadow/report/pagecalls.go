package report

import (
	"fmt"
	"slices"
	"strings"
)

// pageRows is how many rows a table shows at most: the page must stay one that opens at
// once, on a phone as well.
const pageRows = 30

// pageCalls is where every call went: by comparator, and then by class.
type pageCalls struct {
	Bars     []pageBar
	Calls    pageTable
	Classes  pageTable
	Findings *pageTable // that block
	Harmless *pageTable // that do not
	Health   pageTable
}

// pageBar is a comparator's calls as a bar. The parts are in percent of its width.
type pageBar struct {
	Name, What string
	Sum        string // that it adds up, or that it does not
	Mark       State
	Desc       string
	Parts      []pagePart
}

type pagePart struct {
	Kind     string // "compared", "inflight", "missed" or "excused", as page.css has them
	From, To float64
}

// pageSpread puts the parts side by side. A few calls of a million would be no pixel
// wide: what is there must be seen, so the widest part makes room.
func pageSpread(parts []pagePart) {
	const least = 0.4
	over, widest := 0.0, 0
	for i := range parts {
		if parts[i].To < least {
			over, parts[i].To = over+least-parts[i].To, least
		}
		if parts[i].To > parts[widest].To {
			widest = i
		}
	}
	at := 0.0
	for i := range parts {
		if i == widest {
			parts[i].To -= over
		}
		parts[i].From, parts[i].To = at, at+parts[i].To
		at = parts[i].To
	}
}

// Width is how wide the part is.
func (p pagePart) Width() float64 { return p.To - p.From }

func pageComparator(c Comparator) (name, what string) {
	switch c {
	case Seeded:
		return "Seeded", "the same input for both: do they compute and store the same?"
	case Lockstep:
		return "Lockstep", "the same order for both: do the stores stay the same?"
	case Free:
		return "Free", "with all contention: is any commit lost, or applied twice?"
	case Verifier:
		return "Verifier", "both stores at rest: do they hold the same?"
	default:
		return string(c), ""
	}
}

func newPageCalls(r *Report, p Policy) pageCalls {
	totals := r.pageTotals()
	var out pageCalls
	for _, c := range Comparators() {
		if t, ok := totals[c]; ok {
			out.Bars = append(out.Bars, newPageBar(c, t, r.pageUnbalanced(c)))
		}
	}
	out.Calls = pageCallsTable(totals)
	out.Classes = pageClassTable(totals, r.Verify.Findings)
	out.Findings, out.Harmless = pageFindings(r, p)
	out.Health = pageHealth(r.Health)
	return out
}

// pageUnbalanced says what of a comparator's calls does not add up.
func (r *Report) pageUnbalanced(c Comparator) []string {
	var only Report
	for _, o := range r.Operations {
		if t, ok := o.Tallies[c]; ok {
			only.Operations = append(only.Operations, Operation{Domain: o.Domain, Name: o.Name, Tallies: map[Comparator]Tally{c: t}})
		}
	}
	return only.accounting()
}

func newPageBar(c Comparator, t Tally, unbalanced []string) pageBar {
	name, what := pageComparator(c)
	bar := pageBar{Name: name, What: what, Mark: Ready, Sum: "Adds up"}
	if len(unbalanced) > 0 {
		bar.Mark, bar.Sum = NotReady, "Does not add up. "+strings.Join(unbalanced[:min(3, len(unbalanced))], "; ")
		if more := len(unbalanced) - 3; more > 0 {
			bar.Sum += fmt.Sprintf("; and %d more", more)
		}
	}
	var missed, excused int64
	for reason, n := range t.NotCompared {
		if reason.Excused() {
			excused += n
		} else {
			missed += n
		}
	}
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

// pageKnown returns the known ones, and then any that a newer program has added.
func pageKnown[K ~string](known []K, totals map[Comparator]Tally, of func(Tally) map[K]int64) []K {
	var extra []K
	for _, c := range Comparators() {
		for k := range of(totals[c]) {
			if !slices.Contains(known, k) && !slices.Contains(extra, k) {
				extra = append(extra, k)
			}
		}
	}
	slices.Sort(extra)
	return append(known, extra...)
}

func pageCallsTable(totals map[Comparator]Tally) pageTable {
	table := pageTable{Label: "Where every call went, by comparator", Head: pageColumns("Calls", "#Seeded", "#Lockstep", "#Free")}
	row := func(head pageCell, of func(Tally) int64, always bool) {
		cells, some := []pageCell{head}, always
		for _, c := range Comparators() {
			n := of(totals[c])
			some = some || n != 0
			cells = append(cells, pageNumberOf(n))
		}
		if some {
			table.Rows = append(table.Rows, cells)
		}
	}
	row(pageHead("sampled in"), func(t Tally) int64 { return t.Eligible }, true)
	row(pageHead("compared"), func(t Tally) int64 { return t.Compared }, true)
	row(pageHead("in flight"), func(t Tally) int64 { return t.InFlight }, false)
	reasons := pageKnown(Reasons(), totals, func(t Tally) map[Reason]int64 { return t.NotCompared })
	for _, reason := range reasons {
		head := pageCell{Text: string(reason), Sub: reason.info().means, Head: true, Kind: "code what"}
		if reason.Excused() {
			head.Tag = "excused"
		}
		row(head, func(t Tally) int64 { return t.NotCompared[reason] }, false)
	}
	return table
}

func pageClassHead(c Class) pageCell {
	head := pageCell{Text: string(c), Sub: c.info().means, Head: true, Kind: "code what"}
	if c.Blocks() {
		head.Tag = "blocks"
	}
	return head
}

func pageClassTable(totals map[Comparator]Tally, verified map[Class]int64) pageTable {
	table := pageTable{
		Label: "Outcome of the comparisons, by class",
		Head:  pageColumns("Class", "#Seeded", "#Lockstep", "#Free"),
	}
	if len(verified) > 0 {
		table.Head = append(table.Head, pageNumHead("End state"))
	}
	for _, class := range pageKnown(Classes(), totals, func(t Tally) map[Class]int64 { return t.Classes }) {
		head := pageClassHead(class)
		cells, some := []pageCell{head}, class == Match
		for _, c := range Comparators() {
			n := totals[c].Classes[class]
			some = some || n != 0
			cells = append(cells, pageBlocking(class, n))
		}
		if len(verified) > 0 {
			cells = append(cells, pageBlocking(class, verified[class]))
		}
		if some || verified[class] != 0 {
			table.Rows = append(table.Rows, cells)
		}
	}
	return table
}

// pageBlocking is a count, with a sign if it stands in the way.
func pageBlocking(class Class, n int64) pageCell {
	cell := pageNumberOf(n)
	if n > 0 && class.Blocks() {
		cell.Mark = NotReady
	}
	return cell
}
