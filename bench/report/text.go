package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/result"
	"github.com/unwatch/unwatch/bench/stats"
)

// Text writes everything as tables for a terminal.
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

const line = "%-17s %8s %12s %6s %6s %6s %6s %6s %5s %6s %6s %6s %6s\n"

func (t *Table) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n", t.Scenario.Name, t.Scenario.Title())
	fmt.Fprintf(b, line, "", "updates", "min..max", "times", "x best", "p50", "p99", "server", "", "", "", "redis", "client")
	fmt.Fprintf(b, line, "", "/s", "", "watch", "peer", "ms", "ms", "calls", "reads", "bytes", "allocs", "us", "us")
	foreign := 0.0
	for _, r := range t.Rows {
		switch {
		case r.Refused != "" && r.Rate.N == 0:
			fmt.Fprintf(b, "%-17s refused: %.90s\n", r.Impl, r.Refused)
			continue
		case r.Rate.N == 0:
			fmt.Fprintf(b, "%-17s crashed: %.90s\n", r.Impl, r.Crashed)
			continue
		}
		fmt.Fprintf(b, line, r.Impl, stats.Short(r.Rate.Median), kilo(r.Rate.Min)+".."+kilo(r.Rate.Max),
			stats.Short(r.TimesWatch), stats.Short(r.TimesPeer), stats.Short(r.P50), stats.Short(r.P99),
			stats.Short(r.Calls), stats.Short(r.Flights), stats.Short(r.Bytes), stats.Short(r.Allocs),
			stats.Short(r.RedisCPU), stats.Short(r.CPU))
		if trouble := r.Trouble(); trouble != "" {
			fmt.Fprintf(b, "%-17s ^ %s: %.80s\n", "", trouble, r.Err)
		}
		foreign = max(foreign, r.Foreign)
	}
	if t.Scenario.Processes > 1 {
		for _, r := range t.Rows {
			if r.Rate.N > 0 {
				fmt.Fprintf(b, "%-17s worst process's share of the best's: %s\n", r.Impl, stats.Percent(r.Share.Median))
			}
		}
	}
	if foreign > result.Quiet {
		fmt.Fprintf(b, "NOT QUIET: others used up to %.2f cores meanwhile; do not rely on this table\n", foreign)
	}
}

// kilo writes a number in at most five characters.
func kilo(v float64) string {
	switch {
	case v >= 99950:
		return fmt.Sprintf("%.0fk", v/1000)
	case v >= 1000:
		return fmt.Sprintf("%.1fk", v/1000)
	}
	return fmt.Sprintf("%.0f", v)
}
