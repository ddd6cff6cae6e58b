package report

import (
	"fmt"
	"slices"
	"strings"
)

// pageCoverage lists the operations: how much of each was compared, what that proves,
// and what it lacks.
func pageCoverage(r *Report, v Verdict, p Policy) pageTable {
	table := pageTable{
		Label: "Coverage, by operation",
		Head: pageColumns("Operation", "State and what is missing", "#Seeded", "#Lockstep", "#Free", "#Contended", "#Keys",
			"#Rate of differences"),
	}
	for _, o := range r.Operations {
		state, missing := pageGatesOf(v, o)
		seeded := o.Tallies[Seeded]
		row := []pageCell{
			{Text: operationName(o.Domain, o.Name), Sub: pageCounts("", o.Outcomes), Head: true, Kind: "op"},
			{Text: pageOr(string(state)), Sub: missing, Mark: state, Kind: "wide"},
			pageNumberOf(seeded.Compared), pageNumberOf(o.Tallies[Lockstep].Compared), pageNumberOf(o.Tallies[Free].Compared),
			pageNumberOf(o.Contended), pageNumber(pageKeys(o.Keys)), pageNumber(pageBound(seeded, p.Confidence)),
		}
		table.Rows = append(table.Rows, row)
	}
	// What lacks most is what somebody looks for.
	slices.SortStableFunc(table.Rows, func(a, b []pageCell) int { return pageOrder(a[1].Mark) - pageOrder(b[1].Mark) })
	shown := min(len(table.Rows), pageRows)
	table.Note = pageLeftOut(len(table.Rows), shown, "operation")
	table.Rows = table.Rows[:shown]
	return table
}

func pageOrder(s State) int { return slices.Index([]State{NotReady, NotEnoughData, Ready, ""}, s) }

// pageGatesOf is what the gates of an operation come to.
func pageGatesOf(v Verdict, o Operation) (state State, missing string) {
	var lacks []string
	for _, g := range v.Gates {
		if g.Domain != o.Domain || g.Operation != o.Name {
			continue
		}
		if state == "" || pageOrder(g.State) < pageOrder(state) {
			state = g.State
		}
		if g.State != Ready {
			lacks = append(lacks, fmt.Sprintf("%s: %s, need %s", g.Name, g.Have, g.Need))
		}
	}
	return state, strings.Join(lacks, "; ")
}

// pageKeys tells about how many keys a sketch has seen.
func pageKeys(k KeySketch) string {
	switch n := k.Count(); {
	case n == 0:
		return "0"
	case n > 100_000:
		return "> 100,000"
	default:
		return "≈ " + grouped(n)
	}
}

// pageBound is what the rate of blocking differences is below, with the given confidence.
func pageBound(t Tally, confidence float64) string {
	var events int64
	for class, n := range t.Classes {
		if class.Blocks() {
			events += n
		}
	}
	upper := RateUpper(events, t.Compared, confidence)
	if upper > 0.5 {
		return pageNone
	}
	return "< 1 in " + grouped(int64(1/upper))
}

// pageRounds says how far the verifier is.
func pageRounds(v Verify) string {
	text := pagePlural(v.Rounds, "round") + ", the last one ended at " + pageTime(v.Last)
	switch v.Settled {
	case 0:
		return text + ", and did not find all keys equal"
	case 1:
		return text + ", and found all keys equal"
	default:
		return text + "; all keys were equal in the last " + grouped(int64(v.Settled))
	}
}

// pageVerify is the end state: what the verifier found while nobody wrote.
func pageVerify(v Verify) pageTable {
	table := pageTable{Label: "End state", Head: pageColumns("What", "#Keys", "Meaning")}
	row := func(name string, n int64, meaning string, mark State) {
		cell := pageNumberOf(n)
		cell.Mark = mark
		table.Rows = append(table.Rows, []pageCell{pageHead(name), cell, pageProse(meaning)})
	}
	row("touched", v.Touched, "keys that were called, and are to be compared", "")
	row("checked", v.Checked, "of those, in the last round", "")
	row("equal", v.Equal, "of those, with their expiry", v.pageMark())
	for _, some := range []struct {
		name    string
		n       int64
		meaning string
	}{
		{"pending", v.Pending, "differed, and are looked at again"},
		{"unknown", v.Unknown, "could not be read, or moved all the time"},
		{"untimed", v.Untimed, "equal, but a store cannot tell expiries"},
		{"evicted", v.Evicted, "had no room in the registry, and are never checked"},
	} {
		if some.n > 0 {
			row(some.name, some.n, some.meaning, "")
		}
	}
	for _, class := range Classes() {
		if n := v.Findings[class]; n > 0 {
			mark := State("")
			if class.Blocks() {
				mark = NotReady
			}
			row(string(class), n, "confirmed since the start: "+class.info().means, mark)
		}
	}
	return table
}

// pageDirty lists the keys that diverge most.
func pageDirty(r *Report) pageTable {
	table := pageTable{
		Label: "Keys that diverge most",
		Head:  pageColumns("Key", "Domain", "#Count", "First cause", "Path", "First seen", "By operation"),
	}
	for _, k := range r.Keys[:min(len(r.Keys), 20)] {
		class := pageCode(string(k.Class))
		if k.Class.Blocks() {
			class.Tag = "blocks"
		}
		key := pageCode(k.Key)
		key.Head = true
		table.Rows = append(table.Rows, []pageCell{
			key, pageText(k.Domain), pageNumberOf(k.Count), class, pageCode(k.Path), pageMoment(pageTime(k.First)), pageCode(k.OpID),
		})
	}
	table.Note = pageLeftOut(len(r.Keys), len(table.Rows), "key")
	return table
}

// pageFleet lists the processes: a mode that was asked for and is not in effect must be seen.
func pageFleet(r *Report, p Policy) pageTable {
	table := pageTable{
		Label: "Fleet, by process",
		Head:  pageColumns("Process", "In effect", "Asked for", "#Of the keys", "Seen", "Build", "#Queue", "Breaker"),
	}
	for _, one := range r.Processes[:min(len(r.Processes), pageRows)] {
		effect := pageCell{Text: pageOr(one.Mode), Sub: one.Reason, Kind: "wide"}
		if one.Asked != one.Mode {
			effect.Mark = NotReady
			if effect.Sub == "" {
				effect.Sub = "not what was asked for"
			}
		}
		breaker := pageText(one.Breaker)
		if one.Breaker != "" && one.Breaker != "closed" {
			breaker.Mark = NotReady
		}
		seen := pageMoment(pageAgo(one.Seen, r.Taken))
		if r.Taken.Sub(one.Seen) > p.Silence {
			seen.Mark, seen.Sub = NotEnoughData, pageTime(one.Seen)
		}
		name := pageCode(one.Name)
		name.Head = true
		table.Rows = append(table.Rows, []pageCell{
			name, effect, pageText(one.Asked), pageNumber(pagePercent(one.Percent)), seen,
			pageCode(one.Build), pageNumberOf(one.Queue), breaker,
		})
	}
	table.Note = pageLeftOut(len(r.Processes), len(table.Rows), "process")
	return table
}
