package report

import (
	"fmt"
	"strconv"
	"time"
)

// coverage says how much of each operation was compared, and what that supports.
func (t *text) coverage() {
	if len(t.report.Operations) == 0 {
		return
	}
	states := map[[2]string]State{}
	for _, g := range t.verdict.Gates {
		key := [2]string{g.Domain, g.Operation}
		if g.State == NotReady || g.State == NotEnoughData && states[key] != NotReady {
			states[key] = g.State
		}
	}
	t.title("COVERAGE (rate: what the calls support, at " + percentage(t.policy.Confidence) + ")")
	out := table{text: map[int]bool{5: true}}
	out.row("operation", "compared", "keys", "differ", "rate <", "state")
	for _, op := range t.report.Operations {
		_, n, bound := op.evidence(t.policy)
		var differ int64
		for _, c := range Comparators() {
			blocked, _, _ := op.blocking(c, t.policy)
			differ += blocked
		}
		state := states[[2]string{op.Domain, op.Name}]
		if state == "" {
			state = Ready
		}
		rate := scientific(bound)
		if differ > 0 {
			rate = "-" // differences that are not explained support nothing
		}
		out.row(operationName(op.Domain, op.Name), grouped(n), grouped(op.Keys.Count()), grouped(differ), rate, string(state))
	}
	out.write(&t.out)
}

// latencies are those of both paths, side by side.
func (t *text) latencies() {
	quantiles := []float64{0.5, 0.9, 0.99, 0.999}
	var out table
	out.row("", "legacy", "", "", "", "candidate", "", "", "")
	out.row("operation", "p50", "p90", "p99", "p99.9", "p50", "p90", "p99", "p99.9")
	for _, op := range t.report.Operations {
		cells := []string{operationName(op.Domain, op.Name)}
		for _, l := range []Latency{op.Legacy, op.Candidate} {
			for _, q := range quantiles {
				if l.Count() == 0 {
					cells = append(cells, "-")
				} else {
					cells = append(cells, milliseconds(l.Quantile(q)))
				}
			}
		}
		if op.Legacy.Count()+op.Candidate.Count() > 0 {
			out.row(cells...)
		}
	}
	if len(out.rows) > 2 {
		t.title("LATENCY (ms)")
		out.write(&t.out)
	}
}

// keys are those that diverge most.
func (t *text) keys() {
	const shown = 20
	keys := t.report.Keys
	if len(keys) == 0 {
		return
	}
	t.title("KEYS THAT DIVERGE MOST")
	out := table{text: map[int]bool{1: true, 3: true, 4: true, 5: true}}
	out.row("key", "domain", "calls", "first", "at", "by")
	for _, k := range keys[:min(len(keys), shown)] {
		what := string(k.Class)
		if k.Path != "" {
			what += " " + k.Path
		}
		out.row(k.Key, k.Domain, grouped(k.Count), what, k.First.UTC().Format(time.TimeOnly), k.OpID)
	}
	out.write(&t.out)
	if more := len(keys) - shown; more > 0 {
		fmt.Fprintf(&t.out, "  and %s\n", counted(int64(more), "more key"))
	}
}

// samples shows a few: all of them are in the page, and in JSON.
func (t *text) samples() {
	const shown, differences = 3, 4
	samples := t.report.Samples
	if len(samples) == 0 {
		return
	}
	t.title("SAMPLES")
	for _, s := range samples[:min(len(samples), shown)] {
		head := fmt.Sprintf("%s: %s (%s)", operationName(s.Domain, s.Operation), s.Class.info().text, s.Comparator)
		paragraph(&t.out, "  ", "    ", head)
		by := fmt.Sprintf("%s, key %s, %s UTC", s.OpID, s.Key, s.At.UTC().Format(moment))
		if s.Process != "" {
			by += ", " + s.Process
		}
		paragraph(&t.out, "    ", "    ", by)
		out := table{text: map[int]bool{1: true, 2: true}}
		out.row("  where", "legacy", "candidate")
		for _, d := range s.Differences[:min(len(s.Differences), differences)] {
			out.row("  "+d.Path, d.Legacy, d.Candidate)
		}
		if s.Legacy != "" || s.Candidate != "" {
			out.row("  (answered)", s.Legacy, s.Candidate)
		}
		if s.LegacyExpiry != "" || s.CandidateExpiry != "" {
			out.row("  (expires in)", s.LegacyExpiry, s.CandidateExpiry)
		}
		if len(out.rows) > 1 {
			out.write(&t.out)
		}
		if more := max(len(s.Differences)-differences, 0) + s.More; more > 0 {
			fmt.Fprintf(&t.out, "    and %s\n", counted(int64(more), "more difference"))
		}
		if s.Explain != "" {
			paragraph(&t.out, "    ", "    ", s.Explain)
		}
	}
	if more := len(samples) - shown; more > 0 {
		fmt.Fprintf(&t.out, "  and %s\n", counted(int64(more), "more sample"))
	}
}

// fleet lists the processes, if there are several.
func (t *text) fleet() {
	processes := t.report.Processes
	if len(processes) < 2 {
		return
	}
	t.title("FLEET")
	out := table{text: map[int]bool{1: true, 2: true, 3: true, 7: true}}
	out.row("process", "build", "asked", "in effect", "keys %", "silent", "queue", "breaker")
	for _, p := range processes {
		silent := max(t.report.Taken.Sub(p.Seen), 0).Round(time.Second).String()
		if p.Seen.IsZero() {
			silent = "always"
		}
		out.row(p.Name, p.Build, p.Asked, p.Mode, strconv.FormatFloat(p.Percent, 'g', 4, 64), silent, grouped(p.Queue), p.Breaker)
	}
	out.write(&t.out)
	for _, p := range processes {
		if p.Reason != "" {
			paragraph(&t.out, "  ", "    ", p.Name+": "+p.Reason)
		}
	}
}
