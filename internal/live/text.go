package live

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// summary returns the result in one line. Its first number is 0 for a finished migration.
func (r *Report) summary() string {
	text := fmt.Sprintf("%s in %s of %s from %s on %s", wrap.Counted(r.Uses, "use"), duration(r.Ended.Sub(r.Began)),
		wrap.Counted(r.Commands, "command"), wrap.Counted(r.Clients, "client"), wrap.Counted(len(r.Servers), "server"))
	held := 0
	for _, f := range r.Findings {
		if f.Counts() {
			held += f.Held
		}
	}
	if held > 0 {
		text += fmt.Sprintf("; %s in the middle of one", wrap.Counted(held, "client"))
	}
	if r.Verdict == Incomplete {
		text += "; incomplete"
	}
	return text
}

// WriteText writes the report in lines of at most 80 columns. Only longer names make longer lines.
func (r *Report) WriteText(w io.Writer) error {
	var t text
	t.paragraph("", r.Summary)
	switch r.Verdict {
	case Clean:
		t.paragraph("", fmt.Sprintf("Nothing was sent that %s does not carry out.", r.Profile))
	case Incomplete:
		t.WriteString("\nThere is no verdict, because the run was incomplete:\n")
		for _, why := range r.Incomplete {
			t.paragraph("  - ", why)
		}
	}
	var notes []string
	for _, f := range r.Findings {
		if f.Counts() {
			t.finding(f)
			continue
		}
		note := f.headline() + ": " + f.Why
		if f.Remark != "" {
			note += "; " + f.Remark
		}
		notes = append(notes, note)
	}
	t.list("Notes, which do not count:", notes)
	t.list("Refused by an ACL (ACL LOG):", lines(r.Denied, func(d Denied) string {
		return fmt.Sprintf("%s, %d times, user %s, %s: %s, on %s", clean(d.Object), d.Count, clean(d.Username), d.Context, d.Who, d.Server)
	}))
	t.list("Could not be looked at:", lines(r.Unseen, func(u Unseen) string {
		return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s; %s", u.Server, u.What, u.Why, u.Do), "; ")
	}))
	t.list("Not counted, because servers sent them themselves:", lines(r.Attributed, func(a Attributed) string {
		return fmt.Sprintf("%s: %s %s: %s", a.Server, wrap.Grouped(a.Uses), a.Command, a.To)
	}))
	t.list("MONITOR, which is a sample:", lines(r.Monitored, func(m Monitored) string {
		return fmt.Sprintf("%s: %s in %.1f s; %s", m.Server, wrap.Counted(m.Lines, "line"), m.Seconds, m.Ended)
	}))
	t.list("How:", slices.Concat(r.Notes, lines(r.Servers, func(s Server) string {
		return fmt.Sprintf("%s: %s, %s, %s, %s, looked at %s times, clients %s times",
			s.Addr, s.Product, s.Role, wrap.Counted(s.Commands, "command"), wrap.Counted(s.Clients, "client"),
			wrap.Grouped(int64(s.Looks)), wrap.Grouped(int64(s.Lists)))
	})))
	_, err := io.WriteString(w, t.String())
	return err
}

func lines[T any](all []T, line func(T) string) (lines []string) {
	for _, one := range all {
		lines = append(lines, line(one))
	}
	return lines
}

type text struct{ strings.Builder }

// paragraph indents all lines by lead, the first by its text.
func (t *text) paragraph(lead, words string) {
	t.WriteString(wrap.Paragraph(wrap.Width, lead, strings.Repeat(" ", len(lead)), words))
}

func (t *text) list(title string, lines []string) {
	for i, line := range lines {
		if i == 0 {
			t.WriteString("\n" + title + "\n")
		}
		t.paragraph("  - ", line)
	}
}

func (t *text) finding(f Finding) {
	const most, indent = 10, "         "
	t.WriteString("\n")
	t.WriteString(wrap.Paragraph(wrap.Width, fmt.Sprintf("%-8s ", f.Severity), indent, f.headline()))
	t.paragraph(indent, f.Why)
	if f.Instead != "" {
		t.paragraph(indent, "instead: "+f.Instead)
	}
	if f.Remark != "" {
		t.paragraph(indent, f.Remark)
	}
	for _, keys := range f.Keys {
		t.paragraph(indent+"keys ", keys)
	}
	for _, seen := range f.From[:min(len(f.From), most)] {
		t.paragraph(indent+"from ", seen.String())
	}
	if more := len(f.From) - most; more > 0 {
		t.paragraph(indent, fmt.Sprintf("and %d more, in the JSON", more))
	}
}

// headline returns "WATCH: 12 uses, 2 of them refused by the server (MC101)".
func (f *Finding) headline() string {
	var parts []string
	add := func(n int64, words string) {
		if n > 0 {
			parts = append(parts, words)
		}
	}
	add(f.Uses(), wrap.Counted(f.Uses(), "use"))
	add(f.Rejected, wrap.Grouped(f.Rejected)+" of them refused by the server")
	add(f.Sampled, wrap.Grouped(f.Sampled)+" seen by MONITOR")
	add(f.InLua, wrap.Grouped(f.InLua)+" in scripts")
	add(int64(f.Held), wrap.Counted(f.Held, "client")+" in the middle of it")
	return fmt.Sprintf("%s: %s (%s)", f.Command, strings.Join(parts, ", "), f.Rule)
}

// String describes the evidence: "desk at 10.0.0.7 (go-redis 9.7.0), 3 connections, on redis-0:6379".
func (s Seen) String() string {
	text := s.Who.String()
	if s.Connections > 0 {
		text += ", " + wrap.Counted(s.Connections, "connection")
	}
	if s.MaxAge > 0 {
		text += fmt.Sprintf(", the oldest %s", duration(time.Duration(s.MaxAge)*time.Second))
	}
	if s.Lines > 0 {
		text += fmt.Sprintf(", %s of MONITOR", wrap.Counted(s.Lines, "line"))
	}
	return text + ", on " + s.Server
}

// String describes the connections: "desk at 10.0.0.7 (go-redis 9.7.0, user desk)".
func (w Who) String() string {
	text := clean(cmp.Or(w.Name, "no name")) + " at " + w.Host
	var more []string
	if w.Lib != "" {
		more = append(more, clean(w.Lib))
	}
	if w.User != "" && w.User != "default" {
		more = append(more, "user "+clean(w.User))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// duration returns "10 min", "1 h 30 min", "45 s".
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			d -= n * unit.of
		}
	}
	return cmp.Or(strings.Join(parts, " "), "less than 1 s")
}

// clean returns a text of a server in one printable line of at most 200 bytes.
func clean(text string) string {
	const most = 200
	text = wrap.Printable(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
