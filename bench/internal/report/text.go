package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/internal/plan"
	"github.com/unwatch/unwatch/bench/internal/result"
)

// Markdown writes the machine and all tables.
func Markdown(w io.Writer, f *result.Results) error {
	var b strings.Builder
	machine(&b, f)
	for _, t := range Tables(f) {
		foreign := 0.0
		for _, r := range t.Rows {
			foreign = max(foreign, r.Foreign)
		}
		writeScenario(&b, t.Scenario, columns(), t.Rows, foreign)
	}
	for _, t := range HoldTables(f) {
		foreign := 0.0
		for _, r := range t.Rows {
			foreign = max(foreign, r.all(func(h *result.Hold) float64 { return h.ForeignCores }).Max)
		}
		writeScenario(&b, t.Scenario, holdColumns(), t.Rows, foreign)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func machine(b *strings.Builder, f *result.Results) {
	m := f.Machine
	var pings []string
	for _, name := range []string{"loopback", "delay"} {
		if took := f.RoundTrip[name]; took > 0 {
			pings = append(pings, fmt.Sprint(name, " ", took.Round(10*time.Microsecond)))
		}
	}
	versions := m.Go + ", Redis " + m.Redis
	if m.Nutcracker != "" {
		versions += ", nutcracker " + m.Nutcracker
	}
	fmt.Fprintf(b, "Measured on %s, in %v, %d slots:\n\n| | |\n|---|---|\n", f.Began.Format(time.DateOnly),
		f.Ended.Sub(f.Began).Round(time.Second), len(f.Slots))
	fmt.Fprintf(b, "| machine | %s, %d cores, %s %s %s |\n| versions | %s |\n| peers | %s |\n| round trip of a PING | %s |\n",
		escape(m.CPU), m.Cores, m.OS, m.Kernel, m.Arch, versions, strings.Join(m.Peers, ", "), strings.Join(pings, ", "))
}

func writeScenario[R any](b *strings.Builder, s plan.Scenario, columns []column[R], rows []R, foreign float64) {
	fmt.Fprintf(b, "\n### %s: %s\n\n", s.Name, s.Title())
	_ = writeTable(b, columns, rows) // a Builder returns no error
	if note := s.Note(); note != "" {
		fmt.Fprintf(b, "\n%s\n", note)
	}
	if foreign > result.Quiet {
		fmt.Fprintf(b, "\nNOT QUIET: other processes used up to %.2f cores meanwhile; do not rely on this table\n", foreign)
	}
}

// kilo formats a number in at most five characters.
func kilo(v float64) string {
	switch {
	case v >= 99950:
		return fmt.Sprintf("%.0fk", v/1000)
	case v >= 1000:
		return fmt.Sprintf("%.1fk", v/1000)
	}
	return fmt.Sprintf("%.0f", v)
}
