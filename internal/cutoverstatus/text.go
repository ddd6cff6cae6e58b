package cutoverstatus

import (
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Text returns the status for a terminal, in lines of 80 columns. Without a stage it has the Verdict only.
func (s Status) Text() string {
	var out strings.Builder
	say := func(lead, text string) { out.WriteString(wrap.Paragraph(wrap.Width, lead, "  ", text)) }
	say("Verdict: ", s.Verdict.text())
	say("Do next: ", s.Verdict.Do)
	if len(s.Gates) == 0 {
		return out.String()
	}
	out.WriteByte('\n')
	say("", fmt.Sprintf("Cut-over %s: %v, epoch %d; %s", s.Name, s.Stage, s.Stage.Epoch, wrap.Time(s.At)))
	say("Asked for: ", s.Asked)
	for _, why := range s.NotYet {
		say("  not yet: ", why)
	}
	if s.Keys != nil && s.Keys.All() > 0 {
		out.WriteString("\n" + s.keysText())
	}
	out.WriteByte('\n')
	say("Keys: ", s.KeysLine())
	say("Sweep: ", s.SweepLine())
	say("Pauses: ", s.PauseLine())
	say("Verify: ", s.VerifyLine())
	say("Way back: ", s.BackLine())
	if len(s.Processes) > 0 {
		out.WriteString("\n" + s.processesText())
	}
	out.WriteByte('\n')
	say("", fmt.Sprintf("Next: %v: %s", s.Next, s.State))
	return out.String()
}

func (v Verdict) text() string {
	if v.Why == "" {
		return v.State
	}
	return v.State + ": " + v.Why
}

// state is a row of the keys.
type state struct {
	name string
	n    int64
	kind string // a class of page.css
}

func (k Keys) states() []state {
	return []state{
		{"in the new store", k.New, "compared"},
		{"in transit", k.Transit, "inflight"},
		{"in the old store", k.Old, "excused"},
		{"cannot move", k.Stay, "missed"},
		{"WRONG", k.Wrong, "diverged"},
	}
}

// share is the share of n keys. A state that a sample of N keys does not show may have 3 in N of all keys: that
// is the upper limit with 95 % confidence.
func (k Keys) share(n int64) string {
	switch all := k.All(); {
	case !k.Estimate || n > 0 && n < all || k.Looked == 0:
		return wrap.Share(n, all)
	case n == 0:
		return fmt.Sprintf("< %.2g %%", min(300/float64(k.Looked), 100))
	}
	return fmt.Sprintf("> %.4g %%", max(100-300/float64(k.Looked), 0))
}

func (s Status) keysText() string {
	t := wrap.NewTable("keys", "#number", "#share")
	for _, state := range s.Keys.states() {
		t.Row(state.name, state.n, s.Keys.share(state.n))
	}
	return t.String()
}

func (s Status) processesText() string {
	const most = 6 // a screen has 24 lines
	t := wrap.NewTable("process", "#epoch", "#moves", "#p50", "#p99", "#max", "heartbeat")
	for _, p := range s.Processes[:min(len(s.Processes), most)] {
		t.Row(p.Name, int64(p.Epoch), int64(p.Pause.Batches), wrap.Duration(p.Pause.P50), wrap.Duration(p.Pause.P99),
			wrap.Duration(p.Pause.Max), wrap.Ago(p.At, s.At))
	}
	text := t.String()
	if more := len(s.Processes) - most; more > 0 {
		text += fmt.Sprintf("  and %s; -json has all\n", wrap.Counted(more, "more process"))
	}
	return text
}

// KeysLine tells how the keys were counted, and names those in transit.
func (s Status) KeysLine() string {
	if s.Keys == nil {
		return "unknown, and no verify was recorded with -passes: " + s.KeysUnknown
	}
	text := wrap.Counted(s.Keys.Looked, "key") + " looked at"
	if s.Keys.Estimate {
		text += ", at random; the numbers are estimates"
	}
	if s.At.Sub(s.Keys.At) >= time.Second {
		text += ", by the verify of " + wrap.Ago(s.Keys.At, s.At)
	}
	if s.Keys.Transit == 0 {
		return text + "; none of them in transit"
	}
	text += "; in transit, the oldest for " + wrap.Duration(s.Keys.Oldest)
	if len(s.Keys.Moving) > 0 {
		text += ": " + strings.Join(s.Keys.Moving, " ")
	}
	return text
}

// SweepLine says how far the sweep is.
func (s Status) SweepLine() string {
	if s.Sweep == nil {
		return "none runs, and none was recorded with -passes"
	}
	w := s.Sweep
	text := fmt.Sprintf("%s visited, %s moved, %s a second",
		wrap.Counted(w.Visited, "name"), wrap.Counted(w.Moved, "key"), wrap.Grouped(int64(w.Rate+0.5)))
	if w.Pause.Batches > 0 {
		text += fmt.Sprintf("; pause p99 %s, max %s", wrap.Duration(w.Pause.P99), wrap.Duration(w.Pause.Max))
	}
	if w.Process == "" {
		return fmt.Sprintf("none runs; the last one ended %s after %s: %s", wrap.Ago(w.Began.Add(w.Took), s.At), round(w.Took), text)
	}
	text = fmt.Sprintf("runs in %s for %s: %s", w.Process, round(w.Took), text)
	if w.Left > 0 {
		text += "; " + round(w.Left) + " left"
	}
	return text
}

// PauseLine adds up the pauses of all processes.
func (s Status) PauseLine() string {
	if s.Pause.Batches == 0 {
		return "no process has reported a move; set Config.Heartbeat"
	}
	return fmt.Sprintf("%s; in the slowest process p50 %s, p99 %s, max %s", wrap.Counted(s.Pause.Batches, "move"),
		wrap.Duration(s.Pause.P50), wrap.Duration(s.Pause.P99), wrap.Duration(s.Pause.Max))
}

// VerifyLine has the last verify.
func (s Status) VerifyLine() string {
	if s.Verify == nil {
		return "none was recorded with -passes"
	}
	v := s.Verify
	text := fmt.Sprintf("ended %s after %s: %s, %s wrong, %s in transit", wrap.Ago(v.Began.Add(v.Took), s.At), round(v.Took),
		wrap.Counted(v.Keys, "key"), wrap.Grouped(int64(v.Wrong)), wrap.Grouped(int64(v.Transit)))
	if v.Transit > 0 {
		text += ", the oldest for " + wrap.Duration(v.Oldest)
	}
	return text
}

// BackLine has the way back and its time.
func (s Status) BackLine() string {
	switch {
	case s.Back.Keys == 0:
		return s.Back.Way
	case s.Back.Takes == 0:
		return fmt.Sprintf("%s; %s, at a rate that no recorded sweep tells", s.Back.Way, wrap.Counted(s.Back.Keys, "key"))
	}
	return fmt.Sprintf("%s; about %s for %s", s.Back.Way, round(s.Back.Takes), wrap.Counted(s.Back.Keys, "key"))
}

// round drops digits that an operator does not need.
func round(d time.Duration) string {
	if d > time.Second {
		d = d.Round(time.Second)
	}
	return wrap.Duration(d)
}
