package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/wrap"
)

// WriteText writes the Report for a terminal of 80 columns, or a log: no line is longer, and there
// are no colours. The first line is the verdict under p. The gates that are closed follow, with
// a remedy each, and then the numbers. Empty sections are left out. In a test, write to t.Output().
func (r *Report) WriteText(w io.Writer, p Policy) error {
	t := text{report: r, policy: p.withDefaults(), verdict: r.Judge(p)}
	t.head()
	t.gates("WHAT BLOCKS", NotReady)
	t.gates("WHAT IS MISSING", NotEnoughData)
	t.passed()
	t.calls()
	t.classes()
	t.coverage()
	t.latencies()
	t.keys()
	t.samples()
	t.fleet()
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("report: writing text: %w", err)
	}
	return nil
}

type text struct {
	strings.Builder

	report  *Report
	policy  Policy
	verdict Verdict
}

func (t *text) line(words ...string) { t.WriteString(strings.Join(words, "") + "\n") }

// table writes a table below its title, unless it is empty.
func (t *text) table(title string, rows *wrap.Table) {
	if rows.Empty() {
		return
	}
	if title != "" {
		t.line("\n", title)
	}
	t.WriteString(rows.String())
}

// paragraph writes words in lines that fit, after lead in the first line, and after as many blanks in
// the others. A head is indented below its first line.
func (t *text) paragraph(lead, words string) {
	indent := strings.Repeat(" ", len(lead))
	t.wrapped(lead, indent, words)
}

func (t *text) heading(lead, words string) { t.wrapped(lead, lead+"  ", words) }

func (t *text) wrapped(lead, indent, words string) {
	fields := strings.Fields(words)
	for i := range fields {
		fields[i] = wrap.Shorten(wrap.Printable(fields[i]), wrap.Width-utf8.RuneCountInString(indent)-1)
	}
	t.WriteString(wrap.Paragraph(wrap.Width, lead, indent, strings.Join(fields, " ")))
}

const moment = "2006-01-02 15:04:05" // UTC

func (t *text) head() {
	r := t.report
	t.heading("", t.verdict.Headline)
	about := []string{r.Name, r.Mode, percentage(r.Percent/100) + " of the keys"}
	if r.AA {
		about = append(about, "a calibration (A/A)")
	}
	if r.Build != "" {
		about = append(about, "build "+strings.ReplaceAll(r.Build, ",", " and "))
	}
	t.heading("", strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), ", "))
	t.heading("", fmt.Sprintf("%s to %s UTC, %s",
		r.Started.UTC().Format(moment), r.Taken.UTC().Format(moment), r.Taken.Sub(r.Started).Round(time.Second)))
}

// gates lists the gates of one state, each with a remedy.
func (t *text) gates(title string, state State) {
	for i, g := range t.verdict.in(state) {
		if i == 0 {
			t.line("\n", title)
		}
		t.heading("  ", g.about())
		t.paragraph("    have  ", g.Have)
		t.paragraph("    need  ", g.Need)
		if g.Why != "" {
			t.paragraph("    why   ", g.Why)
		}
	}
}

// passed lists the open gates by name.
func (t *text) passed() {
	names, all := gateNames(t.verdict.Gates)
	_, open := gateNames(t.verdict.in(Ready))
	var parts []string
	for _, name := range names {
		switch {
		case open[name] == 0:
		case all[name] == 1:
			parts = append(parts, name)
		default:
			parts = append(parts, fmt.Sprintf("%s (%d of %d)", name, open[name], all[name]))
		}
	}
	if len(parts) > 0 {
		t.line("\nWHAT IS PROVED")
		t.paragraph("  ", strings.Join(parts, ", "))
	}
}

// calls accounts for every call, by comparator.
func (t *text) calls() {
	totals := t.report.totals()
	if len(totals) == 0 {
		return
	}
	out := wrap.NewTable("", "#seeded", "#lockstep", "#free")
	row := func(name string, always bool, count func(Tally) int64) {
		if counts := totals.each(count); always || slices.ContainsFunc(counts, func(n int64) bool { return n != 0 }) {
			out.Row(name, counts)
		}
	}
	row("eligible", true, func(t Tally) int64 { return t.Eligible })
	row("= compared", true, func(t Tally) int64 { return t.Compared })
	for _, reason := range allOf(reasons(), totals, func(t Tally) map[Reason]int64 { return t.NotCompared }) {
		name := "+ " + string(reason)
		if reason.Excused() {
			name += " (excused)"
		}
		row(name, false, func(t Tally) int64 { return t.NotCompared[reason] })
	}
	row("+ in flight", false, func(t Tally) int64 { return t.InFlight })
	t.table("WHERE EVERY CALL WENT", out)
	if len(t.report.accounting()) == 0 {
		t.line("  This adds up.")
	} else {
		t.line("  THIS DOES NOT ADD UP.")
	}
}

// classes counts the results of the comparisons.
func (t *text) classes() {
	totals, out := t.report.totals(), wrap.NewTable("", "#seeded", "#lockstep", "#free", "")
	for _, class := range Classes() {
		counts, tag := totals.each(func(t Tally) int64 { return t.Classes[class] }), ""
		if class.Blocks() {
			tag = "BLOCKS"
		}
		if slices.ContainsFunc(counts, func(n int64) bool { return n != 0 }) {
			out.Row(fmt.Sprintf("%s (%s)", class, class.info().text), counts, tag)
		}
	}
	t.table("WHAT THE COMPARISONS CAME TO", out)
}

// coverage lists the sample of each operation, and the rate that it supports.
func (t *text) coverage() {
	out := wrap.NewTable("operation", "#compared", "#keys", "#differ", "#rate <", "state")
	for _, op := range t.report.Operations {
		_, n, bound := op.evidence(t.policy)
		var differ int64
		for _, c := range Comparators() {
			blocked, _, _ := op.blocking(c, t.policy)
			differ += blocked
		}
		rate := scientific(bound)
		if differ > 0 {
			rate = "-" // the bound is for samples without blocking differences
		}
		state, _ := t.verdict.of(op)
		out.Row(operationName(op.Domain, op.Name), n, op.Keys.Count(), differ, rate, cmp.Or(state, Ready))
	}
	t.table("COVERAGE (rate: what the calls support, at "+percentage(t.policy.Confidence)+")", out)
}

// latencies lists both paths side by side.
func (t *text) latencies() {
	out := wrap.NewTable("", "#legacy", "#", "#", "#", "#candidate", "#", "#", "#")
	for _, op := range t.report.Operations {
		cells := []any{operationName(op.Domain, op.Name)}
		for _, l := range []Latency{op.Legacy, op.Candidate} {
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
				cell := "-"
				if l.Count() > 0 {
					cell = milliseconds(l.Quantile(q))
				}
				cells = append(cells, cell)
			}
		}
		if op.Legacy.Count()+op.Candidate.Count() > 0 {
			if out.Empty() {
				out.Row("operation", "p50", "p90", "p99", "p99.9", "p50", "p90", "p99", "p99.9")
			}
			out.Row(cells...)
		}
	}
	t.table("LATENCY (ms)", out)
}

// keys lists the keys that diverge most.
func (t *text) keys() {
	const shown = 20
	out := wrap.NewTable("key", "domain", "#calls", "first", "at", "by")
	for _, k := range t.report.Keys[:min(len(t.report.Keys), shown)] {
		class := strings.TrimSuffix(string(k.Class)+" "+k.Path, " ")
		out.Row(k.Key, k.Domain, k.Count, class, k.First.UTC().Format(time.TimeOnly), k.OpID)
	}
	t.table("KEYS THAT DIVERGE MOST", out)
	t.more("  and ", len(t.report.Keys)-shown, "more key")
}

func (t *text) more(lead string, n int, noun string) {
	if n > 0 {
		t.line(lead, wrap.Counted(n, noun))
	}
}

// samples shows a few samples. The page and the JSON have all.
func (t *text) samples() {
	const shown, differences = 3, 4
	samples := t.report.Samples
	for i, s := range samples[:min(len(samples), shown)] {
		if i == 0 {
			t.line("\nSAMPLES")
		}
		t.heading("  ", fmt.Sprintf("%s: %s (%s)", operationName(s.Domain, s.Operation), s.Class.info().text, s.Comparator))
		by := fmt.Sprintf("%s, key %s, %s UTC", s.OpID, s.Key, s.At.UTC().Format(moment))
		if s.Process != "" {
			by += ", " + s.Process
		}
		t.paragraph("    ", by)
		out := wrap.NewTable("  where", "legacy", "candidate")
		for _, d := range s.Differences[:min(len(s.Differences), differences)] {
			out.Row("  "+d.Path, d.Legacy, d.Candidate)
		}
		if s.Legacy != "" || s.Candidate != "" {
			out.Row("  (answered)", s.Legacy, s.Candidate)
		}
		if s.LegacyExpiry != "" || s.CandidateExpiry != "" {
			out.Row("  (expires in)", s.LegacyExpiry, s.CandidateExpiry)
		}
		t.table("", out)
		t.more("    and ", max(len(s.Differences)-differences, 0)+s.More, "more difference")
		if s.Explain != "" {
			t.paragraph("    ", s.Explain)
		}
	}
	t.more("  and ", len(samples)-shown, "more sample")
}

// fleet lists the processes, if there are several.
func (t *text) fleet() {
	processes := t.report.Processes
	if len(processes) < 2 {
		return
	}
	out := wrap.NewTable("process", "build", "asked", "in effect", "#keys %", "#silent", "#queue", "breaker")
	for _, p := range processes {
		silent := max(t.report.Taken.Sub(p.Seen), 0).Round(time.Second).String()
		if p.Seen.IsZero() {
			silent = "always"
		}
		out.Row(p.Name, p.Build, p.Asked, p.Mode, strconv.FormatFloat(p.Percent, 'g', 4, 64), silent, p.Queue, p.Breaker)
	}
	t.table("FLEET", out)
	for _, p := range processes {
		if p.Reason != "" {
			t.heading("  ", p.Name+": "+p.Reason)
		}
	}
}
