package torture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// String names an outcome in a history.
func (o Outcome) String() string {
	return [...]string{"unknown", "acknowledged", "not written"}[o]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Table writes the results, in lines of at most 80 columns. A cell's operations in neither column were
// reported as not written.
func (r *Report) Table(w io.Writer) error {
	if len(r.Results)+len(r.Controls)+len(r.Mitigations)+len(r.Isolations)+len(r.Banks)+len(r.Skipped) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		text := make([]string, len(cells))
		for i, c := range cells {
			text[i] = fmt.Sprint(c)
		}
		_, _ = fmt.Fprintln(table, strings.Join(text, "\t"))
	}
	if len(r.Results) > 0 {
		row("topology", "nemesis", "ops", "acked", "unknown", "lost", "double", "stall", "")
	}
	for _, c := range r.Results {
		row(c.Topology, c.Nemesis, c.Operations, c.Acknowledged, c.Unknown, c.Lost, c.Double,
			fmt.Sprintf("%.1fs", c.Stall.Seconds()), c.word())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Results) > 0 {
		sections, transfers, services, moves := 0, 0, 0, 0
		for _, c := range r.Results {
			sections, transfers, services = sections+c.Sections, transfers+c.Transfers, services+c.Services
			moves += c.Moves
		}
		_, _ = fmt.Fprintf(w, "\nBesides: %d sections, %d transfers, %d steps at the desk.\n", sections, transfers, services)
		if moves > 0 {
			_, _ = fmt.Fprintf(w, "Keys moved %d times between two stores.\n", moves)
		}
	}
	if err := r.banks(table, row); err != nil {
		return err
	}
	if len(r.Controls) > 0 {
		_, _ = fmt.Fprintln(w, "\nControls: stores with a mistake, which have to be caught.")
		row("mistake", "where", "ops", "  ", " found")
		for _, c := range r.Controls {
			word := "caught"
			if !c.Found {
				word = "NOT CAUGHT"
			}
			row(c.Name, c.Control.Topology+"/"+c.Control.Nemesis, c.Operations, "  "+word, " "+c.found())
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	r.loads(w)
	if err := r.mitigations(w, table, row); err != nil {
		return err
	}
	if err := r.isolations(table, row); err != nil {
		return err
	}
	return r.problems(w)
}

// loads writes the measurements of each load beside their bounds.
func (r *Report) loads(w io.Writer) {
	for _, c := range r.Results {
		if len(c.Rows) > 0 {
			_, _ = fmt.Fprintf(w, "\n%s/%s, %v\n", c.Topology, c.Nemesis, c.Took.Round(time.Second))
		}
		for _, row := range c.Rows {
			word := "ok"
			if row.Broken {
				word = "BROKEN"
			} else if row.Bound == "" {
				word = ""
			}
			text := fmt.Sprintf("%-45s %17s %8s %s", row.What, row.Measured, row.Bound, word)
			_, _ = fmt.Fprintln(w, strings.TrimRight(text, " "))
		}
	}
}

// banks writes what became of the updates of several keys. Torn are those that are stored or were seen in part.
func (r *Report) banks(table *tabwriter.Writer, row func(cells ...any)) error {
	if len(r.Banks) > 0 {
		_, _ = fmt.Fprintln(table, "\nA bank and a booking of seats, by updates of several keys.")
		row("where", "ops", "acked", "unknown", "lost", "doubled", "torn", "stall", "")
	}
	for _, c := range r.Banks {
		row(c.Topology+"/"+c.Nemesis, c.Operations, c.Acknowledged, c.Unknown, c.Lost, c.Double, c.Partial,
			fmt.Sprintf("%.1fs", c.Stall.Seconds()), c.word())
	}
	return table.Flush()
}

// isolations writes the share of its throughput on healthy keys that each store kept.
func (r *Report) isolations(table *tabwriter.Writer, row func(cells ...any)) error {
	if len(r.Isolations) > 0 {
		_, _ = fmt.Fprintln(table, "\nHealthy keys while another server fails; kept: of their throughput,\nto compare with plain GET and SET; dropped: sections that lost their lock.")
		row("store", "where", "ops", "kept", "sections", "dropped", "")
	}
	for _, c := range r.Isolations {
		row(c.Mitigation, c.Topology+"/"+c.Nemesis, c.Operations, fmt.Sprintf("%.0f%%", 100*c.Kept), c.Sections, c.Dropped, c.word())
	}
	return table.Flush()
}

// mitigations writes the measured effect of each mitigation.
func (r *Report) mitigations(w io.Writer, table *tabwriter.Writer, row func(cells ...any)) error {
	if len(r.Mitigations) == 0 {
		return nil
	}
	var locks, moves []*Result
	for _, c := range r.Mitigations {
		if strings.Contains(c.Topology, ">") {
			moves = append(moves, c)
		} else {
			locks = append(locks, c)
		}
	}
	if len(locks) > 0 {
		_, _ = fmt.Fprintln(w, "\nLocks; overlap: times two held one lock; late: writes to a store by holders\nthat had lost it; passed: those that a check of tokens does not refuse.")
		row("lock", "where", "held", "overlap", "late", "passed", "")
	}
	for _, c := range locks {
		passed := "-"
		if c.Tokens {
			passed = fmt.Sprint(c.Passed)
		}
		row(c.Mitigation, c.Topology+"/"+c.Nemesis, c.Sections, c.Overlap, c.Late, passed, "")
	}
	if err := table.Flush(); err != nil || len(moves) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(w, "\nFailovers in a cut-over.")
	row("mitigation", "where", "moves", "acked", "lost", "twice", "")
	for _, c := range moves {
		row(c.Mitigation, c.Topology+"/"+c.Nemesis, c.Moves, c.Acknowledged, c.Lost, c.Double, "")
	}
	return table.Flush()
}

// word summarizes a cell in one word.
func (r *Result) word() string {
	switch {
	case r.Bad():
		return " FAILED"
	case r.Forgiven && r.Lost > 0:
		return " Redis" // lost them
	case len(r.Undecided) > 0:
		return " open" // porcupine timed out for some keys
	}
	return " ok"
}

// finding is a count of broken promises.
type finding struct {
	n         int
	word      string
	what      string
	forgiving bool // expected if the fault makes Redis lose data
}

func (v *Verdict) findings() []finding {
	leaked := 0
	if v.Leaked != "" {
		leaked = 1
	}
	beyond := 0
	for _, row := range v.Rows {
		if row.Broken {
			beyond++
		}
	}
	return []finding{
		{v.Lost, "lost", "acknowledged updates are lost", true},
		{v.Double, "double", "updates were carried out more than once", false},
		{v.Ghost, "ghost", "updates were carried out that failed", false},
		{v.Chain, "chain", "updates were given another value than the one before them", true},
		{v.Overlap, "overlap", "times two held one lock", true},
		{v.Stale, "stale", "fencing tokens are smaller than one before them", true},
		{v.Torn, "torn", "transfers are in no order that all lists agree on", true},
		{v.Partial, "torn", "updates of several keys are stored, or were seen, in part", true},
		{v.Sealed, "sealed", "keys stay sealed although a Store has touched them", false},
		{v.Forgot, "left", "decisions are left without a fault", false},
		{v.Unfenced, "unfenced", "updates of the external store are lost or out of order", false},
		{v.Passed, "passed", "late writes passed the token check", true},
		{v.Few, "not written", "operations failed beyond half of all: calls do not wait until the fault is over", false},
		{v.Slowed, "slowed", "stores lost throughput on keys of healthy servers", false},
		{v.Dropped, "dropped", "sections lost their lock on a server that was well", false},
		{v.Refused, "refused", "sections were refused within one of the same name", false},
		{len(v.Desk), "of the desk", "rules of the desk are broken", true},
		{len(v.NotLinearizable), "out of order", "keys have a history that no order explains", true},
		{len(v.Immortal), "immortal", "keys of locks have no expiry", false},
		{beyond, "beyond", "measurements of a load are beyond their bounds", false},
		{leaked, "leaked", "cell left goroutines of closed stores", false},
	}
}

// Bad reports whether a promise was broken.
func (v *Verdict) Bad() bool {
	return len(v.Errors) > 0 || slices.ContainsFunc(v.findings(), func(f finding) bool {
		return f.n > 0 && !(f.forgiving && v.Forgiven)
	})
}

// found returns the most frequent finding in few words.
func (v *Verdict) found() string {
	most := slices.MaxFunc(v.findings(), func(a, b finding) int { return a.n - b.n })
	if most.n == 0 {
		return ""
	}
	return fmt.Sprint(most.n, " ", most.word)
}

// broken returns the broken promises, one per line.
func (v *Verdict) broken() (lines []string) {
	for _, f := range v.findings() {
		if f.n > 0 {
			lines = append(lines, fmt.Sprint(f.n, " ", f.what))
		}
	}
	return lines
}

// problems describes the failures.
func (r *Report) problems(w io.Writer) error {
	for _, c := range slices.Concat(r.Results, r.Banks) {
		name := c.Topology + "/" + c.Nemesis
		if c.Bank {
			name = c.Topology + "/" + bankKind + "/" + c.Nemesis
		}
		lines := c.broken()
		switch {
		case c.Bad():
			_, _ = fmt.Fprintf(w, "\n-seed %d -only %s:\n", r.Seed, name)
			lines = slices.Concat(lines, c.examples, c.Desk, c.Errors)
		case len(lines) > 0:
			_, _ = fmt.Fprintf(w, "\n%s, by Redis itself:\n", name)
		}
		for _, text := range lines {
			_, _ = fmt.Fprintf(w, "  %s\n", text)
		}
	}
	for _, c := range slices.Concat(r.Mitigations, r.Isolations) {
		if !c.Bad() {
			continue
		}
		where := fmt.Sprintf("%s at %s/%s:", c.Mitigation, c.Topology, c.Nemesis)
		only := "mitigation/" + c.Mitigation
		if slices.Contains(r.Isolations, c) {
			only = "isolation/" + c.Topology + "/" + c.Nemesis
		}
		again := fmt.Sprintf("-seed %d -only '%s'", r.Seed, only)
		space := " "
		if len(where)+len(again) >= 80 { // the line has 80 columns
			space = "\n"
		}
		if _, err := fmt.Fprintf(w, "\n%s%s%s\n", where, space, again); err != nil {
			return err
		}
		for _, text := range slices.Concat(c.broken(), c.examples, c.Errors) {
			_, _ = fmt.Fprintf(w, "  %s\n", text)
		}
	}
	for _, cell := range r.Skipped {
		_, _ = fmt.Fprintln(w, "\nSKIPPED", cell)
	}
	if len(r.Omitted) > 0 {
		_, _ = fmt.Fprintln(w, "\nLeft out of so short a run; another seed has others, 20 minutes have all:")
		Fold(w, strings.Join(r.Omitted, ", "))
	}
	for _, folder := range r.Kept {
		if _, err := fmt.Fprintln(w, "\nkept:", folder); err != nil {
			return err
		}
	}
	return nil
}

// Fold writes a text in indented lines of 80 columns.
func Fold(w io.Writer, text string) {
	line := "   "
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 80 {
			_, _ = fmt.Fprintln(w, line)
			line = "   "
		}
		line += " " + word
	}
	_, _ = fmt.Fprintln(w, line)
}
