package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// pageFound is a finding, with the operation that has it.
type pageFound struct {
	where string
	known bool
	Finding
}

// pageFindings lists what differed and where, the most frequent first: what blocks, and
// what does not. Each is nil if there is nothing.
func pageFindings(r *Report, p Policy) (blocks, harmless *pageTable) {
	var bad, good []pageFound
	for _, o := range r.Operations {
		for _, f := range o.Findings {
			one := pageFound{operationName(o.Domain, o.Name), p.knows(o.Domain, o.Name, f.Class, f.Path), f}
			if f.Class.Blocks() && !one.known {
				bad = append(bad, one)
			} else {
				good = append(good, one)
			}
		}
	}
	return pageFoundTable("Differences that block", bad), pageFoundTable("Differences that do not block", good)
}

func pageFoundTable(label string, all []pageFound) *pageTable {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b pageFound) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.where, b.where))
	})
	table := &pageTable{Label: label, Head: pageColumns("Operation", "Class", "Path", "#Count", "Found by", "First", "Last")}
	for _, f := range all[:min(len(all), pageRows/2)] {
		class, count := pageCode(string(f.Class)), pageNumberOf(f.Count)
		class.Sub = f.Class.info().means
		switch {
		case f.known:
			class.Tag = "known"
		case f.Class.Blocks():
			class.Tag, count.Mark = "blocks", NotReady
		}
		name, _ := pageComparator(f.Comparator)
		table.Rows = append(table.Rows, []pageCell{
			pageHead(f.where), class, pageCode(f.Path), count, pageText(name),
			pageMoment(pageTime(f.First)), pageMoment(pageTime(f.Last)),
		})
	}
	table.Note = pageLeftOut(len(all), len(table.Rows), "finding")
	return table
}

// pageHealth is how both paths and the shadow did.
func pageHealth(h Health) pageTable {
	table := pageTable{Label: "Health of both paths and of the shadow", Head: pageColumns("What", "Value")}
	row := func(name, value, sub string, mark State) {
		table.Rows = append(table.Rows, []pageCell{pageHead(name), {Text: value, Sub: sub, Mark: mark, Kind: "wide"}})
	}
	for _, path := range []struct {
		name string
		of   PathHealth
	}{{"legacy path", h.Legacy}, {"candidate", h.Candidate}} {
		row(path.name, pagePlural(path.of.Calls, "call"), pageCounts("errors: ", path.of.Errors), "")
	}
	breaker := pageMark(h.Breaker == "closed", h.Breaker != "")
	row("breaker", pageOr(h.Breaker), pageTrips(h.BreakerTrips), breaker)
	row("queue", pagePlural(h.Queue, "call")+", "+pageBytes(h.QueueBytes), "at most "+pagePlural(h.QueueMost, "call")+" at once", "")
	if h.Panics > 0 {
		row("panics", grouped(h.Panics), "of the shadow's own code", NotReady)
	}
	if len(h.Resyncs) > 0 {
		row("keys copied anew", pageCounts("", h.Resyncs), "", "")
	}
	for _, l := range []struct {
		name, what string
		of         Latency
	}{
		{"lag", "from the call's end to its comparison's", h.Lag},
		{"queue wait", "until a worker took the call", h.QueueWait},
		{"lock wait", "of the candidate for other writers, in the free run", h.LockWait},
	} {
		if l.of.Count() > 0 {
			row(l.name, "p50 "+pageDuration(l.of.Quantile(0.5))+", p99 "+pageDuration(l.of.Quantile(0.99)), l.what, "")
		}
	}
	return table
}

func pageTrips(n int64) string {
	if n == 0 {
		return "never opened"
	}
	return "opened " + pagePlural(n, "time")
}

// pageCounts lists counts by name, the largest first.
func pageCounts(prefix string, counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	parts := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), 8)] {
		parts = append(parts, name+" "+grouped(counts[name]))
	}
	if more := len(names) - 8; more > 0 {
		parts = append(parts, grouped(int64(more))+" more")
	}
	return prefix + strings.Join(parts, ", ")
}

func pageBytes(n int64) string {
	switch {
	case n < 1<<10:
		return pagePlural(n, "byte")
	case n < 1<<20:
		return pageDigits(float64(n)/(1<<10)) + " KiB"
	default:
		return pageDigits(float64(n)/(1<<20)) + " MiB"
	}
}
