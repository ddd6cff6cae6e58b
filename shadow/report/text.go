package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteText writes the Report for a terminal of 80 columns, or a log: no line is longer,
// nothing is coloured. The first line is the verdict under p. Below: what blocks and what
// is missing, with what to do, and the numbers behind it. WriteText leaves out what is
// empty.
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

// Log writes the Report as WriteText does into a test's log; tb is a *testing.T, or a *testing.B.
func (r *Report) Log(tb interface {
	Helper()
	Log(args ...any)
}, p Policy,
) {
	tb.Helper()
	var out strings.Builder
	_ = r.WriteText(&out, p) // a Builder takes everything
	tb.Log("\n" + out.String())
}

// text is a Report as text, in the making.
type text struct {
	report  *Report
	policy  Policy
	verdict Verdict
	out     strings.Builder
}

func (t *text) title(title string) { t.out.WriteString("\n" + title + "\n") }

// moment is how times are shown: they are all UTC.
const moment = "2006-01-02 15:04:05"

func (t *text) head() {
	r := t.report
	paragraph(&t.out, "", "  ", t.verdict.Headline)
	about := []string{r.Mode, percentage(r.Percent/100) + " of the keys"}
	if r.Name != "" {
		about = slices.Insert(about, 0, r.Name)
	}
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
	titled := false
	for _, g := range t.verdict.Gates {
		if g.State != state {
			continue
		}
		if !titled {
			t.title(title)
			titled = true
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
	var names []string
	open, all := map[string]int{}, map[string]int{}
	for _, g := range t.verdict.Gates {
		if all[g.Name] == 0 {
			names = append(names, g.Name)
		}
		all[g.Name]++
		if g.State == Ready {
			open[g.Name]++
		}
	}
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
	sums := t.report.totals()
	if len(sums) == 0 {
		return
	}
	t.title("WHERE EVERY CALL WENT")
	var out table
	header := []string{""}
	for _, c := range Comparators() {
		header = append(header, string(c))
	}
	out.row(header...)
	line := func(name string, always bool, count func(Tally) int64) {
		cells, any := []string{name}, always
		for _, c := range Comparators() {
			n := count(sums[c])
			any = any || n != 0
			cells = append(cells, grouped(n))
		}
		if any {
			out.row(cells...)
		}
	}
	line("eligible", true, func(t Tally) int64 { return t.Eligible })
	line("= compared", true, func(t Tally) int64 { return t.Compared })
	reasons := Reasons()
	for _, c := range Comparators() {
		for _, reason := range sortedKeys(sums[c].NotCompared) {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason) // of a later version
			}
		}
	}
	for _, reason := range reasons {
		name := "+ " + string(reason)
		if reason.Excused() {
			name += " (excused)"
		}
		line(name, false, func(t Tally) int64 { return t.NotCompared[reason] })
	}
	line("+ in flight", false, func(t Tally) int64 { return t.InFlight })
	out.write(&t.out)
	if len(t.report.accounting()) == 0 {
		t.out.WriteString("  This adds up.\n")
	} else {
		t.out.WriteString("  THIS DOES NOT ADD UP.\n")
	}
}

// classes says what the comparisons came to.
func (t *text) classes() {
	sums := t.report.totals()
	out := table{text: map[int]bool{4: true}}
	header := []string{""}
	for _, c := range Comparators() {
		header = append(header, string(c))
	}
	out.row(append(header, "")...)
	for _, class := range Classes() {
		cells, any := []string{fmt.Sprintf("%s (%s)", class, class.info().text)}, false
		for _, c := range Comparators() {
			n := sums[c].Classes[class]
			any = any || n != 0
			cells = append(cells, grouped(n))
		}
		tag := ""
		if class.Blocks() {
			tag = "BLOCKS"
		}
		if any {
			out.row(append(cells, tag)...)
		}
	}
	if len(out.rows) > 1 {
		t.title("WHAT THE COMPARISONS CAME TO")
		out.write(&t.out)
	}
}
