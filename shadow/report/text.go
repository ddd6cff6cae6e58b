package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WriteText writes the Report for a terminal of 80 columns, or a log: no line is longer,
// nothing is coloured. The first line is the verdict under p. Below: what blocks and what
// is missing, with what to do, and the numbers behind it. WriteText leaves out what is
// empty. In a test, t.Output() is the log.
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
	if _, err := io.WriteString(w, t.out.String()); err != nil {
		return fmt.Errorf("report: writing text: %w", err)
	}
	return nil
}

// text is a Report as text, in the making.
type text struct {
	report  *Report
	policy  Policy
	verdict Verdict
	out     strings.Builder
}

func (t *text) title(title string) { t.out.WriteString("\n" + title + "\n") }

// table writes one below its title, if it has rows.
func (t *text) table(title string, rows *table) {
	if len(rows.rows) == 1 {
		return
	}
	if title != "" {
		t.title(title)
	}
	rows.write(&t.out)
}

// moment is how times are shown: they are all UTC.
const moment = "2006-01-02 15:04:05"

func (t *text) head() {
	r := t.report
	paragraph(&t.out, "", "  ", t.verdict.Headline)
	about := []string{r.Name, r.Mode, percentage(r.Percent/100) + " of the keys"}
	if r.AA {
		about = append(about, "a calibration (A/A)")
	}
	if r.Build != "" {
		about = append(about, "build "+strings.ReplaceAll(r.Build, ",", " and "))
	}
	paragraph(&t.out, "", "  ", strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), ", "))
	paragraph(&t.out, "", "  ", fmt.Sprintf("%s to %s UTC, %s",
		r.Started.UTC().Format(moment), r.Taken.UTC().Format(moment), r.Taken.Sub(r.Started).Round(time.Second)))
}

// gates lists those of one state, each with what to do.
func (t *text) gates(title string, state State) {
	for i, g := range t.verdict.in(state) {
		if i == 0 {
			t.title(title)
		}
		paragraph(&t.out, "  ", "    ", strings.TrimSuffix(about(g), ": "))
		paragraph(&t.out, "    have  ", "          ", g.Have)
		paragraph(&t.out, "    need  ", "          ", g.Need)
		if g.Why != "" {
			paragraph(&t.out, "    why   ", "          ", g.Why)
		}
	}
}

// passed says in a line how many gates are open, by name.
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
		t.title("WHAT IS PROVED")
		paragraph(&t.out, "  ", "  ", strings.Join(parts, ", "))
	}
}

// calls says where every call went, by comparator.
func (t *text) calls() {
	totals := t.report.totals()
	if len(totals) == 0 {
		return
	}
	out := newTable("", "#seeded", "#lockstep", "#free")
	line := func(name string, always bool, count func(Tally) int64) {
		if counts := totals.each(count); always || slices.Max(counts) != 0 || slices.Min(counts) != 0 {
			out.row(name, counts)
		}
	}
	line("eligible", true, func(t Tally) int64 { return t.Eligible })
	line("= compared", true, func(t Tally) int64 { return t.Compared })
	for _, reason := range allOf(reasons(), totals, func(t Tally) map[Reason]int64 { return t.NotCompared }) {
		name := "+ " + string(reason)
		if reason.Excused() {
			name += " (excused)"
		}
		line(name, false, func(t Tally) int64 { return t.NotCompared[reason] })
	}
	line("+ in flight", false, func(t Tally) int64 { return t.InFlight })
	t.table("WHERE EVERY CALL WENT", out)
	if len(t.report.accounting()) == 0 {
		t.out.WriteString("  This adds up.\n")
	} else {
		t.out.WriteString("  THIS DOES NOT ADD UP.\n")
	}
}

// classes says what the comparisons came to.
func (t *text) classes() {
	totals, out := t.report.totals(), newTable("", "#seeded", "#lockstep", "#free", "")
	for _, class := range Classes() {
		counts, tag := totals.each(func(t Tally) int64 { return t.Classes[class] }), ""
		if class.Blocks() {
			tag = "BLOCKS"
		}
		if slices.Max(counts) != 0 || slices.Min(counts) != 0 {
			out.row(fmt.Sprintf("%s (%s)", class, class.info().text), counts, tag)
		}
	}
	t.table("WHAT THE COMPARISONS CAME TO", out)
}

// coverage says how much of each operation was compared, and what that supports.
func (t *text) coverage() {
	out := newTable("operation", "#compared", "#keys", "#differ", "#rate <", "state")
	for _, op := range t.report.Operations {
		_, n, bound := op.evidence(t.policy)
		var differ int64
		for _, c := range Comparators() {
			blocked, _, _ := op.blocking(c, t.policy)
			differ += blocked
		}
		rate := scientific(bound)
		if differ > 0 {
			rate = "-" // differences that are not explained support nothing
		}
		state, _ := t.verdict.of(op)
		out.row(operationName(op.Domain, op.Name), n, op.Keys.Count(), differ, rate, cmp.Or(state, Ready))
	}
	t.table("COVERAGE (rate: what the calls support, at "+percentage(t.policy.Confidence)+")", out)
}

// latencies are those of both paths, side by side.
func (t *text) latencies() {
	out := newTable("", "#legacy", "#", "#", "#", "#candidate", "#", "#", "#")
	head := []any{"operation", "p50", "p90", "p99", "p99.9", "p50", "p90", "p99", "p99.9"}
	for _, op := range t.report.Operations {
		cells := []any{operationName(op.Domain, op.Name)}
		for _, l := range []Latency{op.Legacy, op.Candidate} {
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
				if l.Count() == 0 {
					cells = append(cells, "-")
				} else {
					cells = append(cells, milliseconds(l.Quantile(q)))
				}
			}
		}
		if op.Legacy.Count()+op.Candidate.Count() > 0 {
			if len(out.rows) == 1 {
				out.row(head...)
			}
			out.row(cells...)
		}
	}
	t.table("LATENCY (ms)", out)
}

// keys are those that diverge most.
func (t *text) keys() {
	const shown = 20
	out := newTable("key", "domain", "#calls", "first", "at", "by")
	for _, k := range t.report.Keys[:min(len(t.report.Keys), shown)] {
		what := string(k.Class)
		if k.Path != "" {
			what += " " + k.Path
		}
		out.row(k.Key, k.Domain, k.Count, what, k.First.UTC().Format(time.TimeOnly), k.OpID)
	}
	t.table("KEYS THAT DIVERGE MOST", out)
	t.more("  and ", len(t.report.Keys)-shown, "more key")
}

func (t *text) more(lead string, n int, noun string) {
	if n > 0 {
		t.out.WriteString(lead + counted(n, noun) + "\n")
	}
}

// samples shows a few: all of them are in the page, and in JSON.
func (t *text) samples() {
	const shown, differences = 3, 4
	samples := t.report.Samples
	for i, s := range samples[:min(len(samples), shown)] {
		if i == 0 {
			t.title("SAMPLES")
		}
		paragraph(&t.out, "  ", "    ", fmt.Sprintf("%s: %s (%s)", operationName(s.Domain, s.Operation), s.Class.info().text, s.Comparator))
		by := fmt.Sprintf("%s, key %s, %s UTC", s.OpID, s.Key, s.At.UTC().Format(moment))
		if s.Process != "" {
			by += ", " + s.Process
		}
		paragraph(&t.out, "    ", "    ", by)
		out := newTable("  where", "legacy", "candidate")
		for _, d := range s.Differences[:min(len(s.Differences), differences)] {
			out.row("  "+d.Path, d.Legacy, d.Candidate)
		}
		if s.Legacy != "" || s.Candidate != "" {
			out.row("  (answered)", s.Legacy, s.Candidate)
		}
		if s.LegacyExpiry != "" || s.CandidateExpiry != "" {
			out.row("  (expires in)", s.LegacyExpiry, s.CandidateExpiry)
		}
		t.table("", out)
		t.more("    and ", max(len(s.Differences)-differences, 0)+s.More, "more difference")
		if s.Explain != "" {
			paragraph(&t.out, "    ", "    ", s.Explain)
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
	out := newTable("process", "build", "asked", "in effect", "#keys %", "#silent", "#queue", "breaker")
	for _, p := range processes {
		silent := max(t.report.Taken.Sub(p.Seen), 0).Round(time.Second).String()
		if p.Seen.IsZero() {
			silent = "always"
		}
		out.row(p.Name, p.Build, p.Asked, p.Mode, strconv.FormatFloat(p.Percent, 'g', 4, 64), silent, p.Queue, p.Breaker)
	}
	t.table("FLEET", out)
	for _, p := range processes {
		if p.Reason != "" {
			paragraph(&t.out, "  ", "    ", p.Name+": "+p.Reason)
		}
	}
}
