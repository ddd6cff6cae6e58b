package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/internal/result"
)

// Text writes all tables for a terminal.
func Text(w io.Writer, f *result.File) error {
	var b strings.Builder
	m := f.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s %s; %s, Redis %s; %s, took %v\n", m.CPU, m.Cores, m.OS, m.Kernel, m.Go, m.Redis,
		f.Began.Format(time.DateOnly), f.Ended.Sub(f.Began).Round(time.Second))
	for _, name := range []string{"loopback", "delay"} {
		if took := f.RoundTrip[name]; took > 0 {
			fmt.Fprintf(&b, "round trip of a PING, %s: %v\n", name, took.Round(time.Microsecond))
		}
	}
	for _, t := range Tables(f) {
		t.text(&b)
	}
	for _, t := range HoldTables(f) {
		t.text(&b)
	}
	targetsText(&b, f)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n", t.Scenario.Name, t.Scenario.Title())
	foreign := 0.0
	for _, r := range t.Rows {
		foreign = max(foreign, r.Foreign)
	}
	gridOf(columns(), t.Rows, false).text(b, func(row int) string {
		r := t.Rows[row]
		if r.Rate.N == 0 {
			return r.rate() + ": " + r.Trouble()
		}
		return r.Trouble()
	})
	notQuiet(b, foreign)
}

func notQuiet(b *strings.Builder, foreign float64) {
	if foreign > result.Quiet {
		fmt.Fprintf(b, "NOT QUIET: others used up to %.2f cores meanwhile; do not rely on this table\n", foreign)
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
