package live

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

const width = 80

// summary is the verdict in one line. Its first number is what a gate waits for to be 0.
func (r *Report) summary() string {
	text := fmt.Sprintf("%s in %s of %s from %s on %s", plural(r.Uses, "use"), duration(r.Ended.Sub(r.Began)),
		plural(r.Commands, "command"), plural(int64(r.Clients), "client"), plural(int64(len(r.Servers)), "server"))
	held := 0
	for _, f := range r.Findings {
		if f.Counts() {
			held += f.Held
		}
	}
	if held > 0 {
		text += fmt.Sprintf("; %s in the middle of one", plural(int64(held), "client"))
	}
	if r.Verdict == Incomplete {
		text += "; incomplete"
	}
	return text
}

// WriteText writes the report in lines of at most 80 columns, but for names that are
// longer themselves.
func (r *Report) WriteText(w io.Writer) error {
	var t text
	t.paragraph("", "", r.Summary)
	switch {
	case r.Verdict == Clean:
		t.paragraph("", "", fmt.Sprintf("Nothing was sent that %s does not carry out.", r.Profile))
	case r.Verdict == Incomplete:
		t.WriteString("\nThis is no verdict, for not all was seen:\n")
		for _, why := range r.Incomplete {
			t.paragraph("  - ", "    ", why)
		}
	}
	notes := 0
	for _, f := range r.Findings {
		if f.Counts() {
			t.finding(f)
		} else {
			notes++
		}
	}
	if notes > 0 {
		t.WriteString("\nNotes, which count for nothing:\n")
		for _, f := range r.Findings {
			if !f.Counts() {
				t.note(f)
			}
		}
	}
	t.denied(r.Denied)
	t.rest(r)
	_, err := io.WriteString(w, t.String())
	return err
}

type text struct{ strings.Builder }

func (t *text) paragraph(lead, indent, words string) {
	t.WriteString(wrap.Paragraph(width, lead, indent, words))
}

func (t *text) finding(f Finding) {
	t.WriteString("\n")
	t.paragraph(fmt.Sprintf("%-8s ", f.Severity), "         ", f.headline())
	t.paragraph("         ", "         ", f.Why)
	if f.Instead != "" {
		t.paragraph("         ", "         ", "instead: "+f.Instead)
	}
	if f.Remark != "" {
		t.paragraph("         ", "         ", f.Remark)
	}
	for _, keys := range f.Keys {
		t.paragraph("         keys ", "              ", keys)
	}
	const most = 10
	for i, seen := range f.From {
		if i == most {
			t.paragraph("         ", "", fmt.Sprintf("and %d more, in the JSON", len(f.From)-most))
			break
		}
		t.paragraph("         from ", "              ", seen.String())
	}
}

// headline is "WATCH: 12 uses, 2 of them refused (MC101)".
func (f *Finding) headline() string {
	var parts []string
	if f.Uses() > 0 {
		parts = append(parts, plural(f.Uses(), "use"))
	}
	if f.Rejected > 0 {
		parts = append(parts, grouped(f.Rejected)+" of them refused by the server")
	}
	if f.Sampled > 0 {
		parts = append(parts, grouped(f.Sampled)+" seen by MONITOR")
	}
	if f.InLua > 0 {
		parts = append(parts, grouped(f.InLua)+" in scripts")
	}
	if f.Held > 0 {
		parts = append(parts, plural(int64(f.Held), "client")+" in the middle of it")
	}
	return fmt.Sprintf("%s: %s (%s)", f.Command, strings.Join(parts, ", "), f.Rule)
}

func (t *text) note(f Finding) {
	words := f.headline() + ": " + f.Why
	if f.Remark != "" {
		words += "; " + f.Remark
	}
	t.paragraph("  - ", "    ", words)
}

// String names who it is: "desk at 10.0.0.7 (go-redis 9.7.0), 3 connections".
func (s Seen) String() string {
	text := s.Who.String()
	if s.Connections > 0 {
		text += ", " + plural(int64(s.Connections), "connection")
	}
	if s.MaxAge > 0 {
		text += fmt.Sprintf(", the oldest %s", duration(time.Duration(s.MaxAge)*time.Second))
	}
	if s.Lines > 0 {
		text += fmt.Sprintf(", %s of MONITOR", plural(int64(s.Lines), "line"))
	}
	return text + ", on " + s.Server
}

// String names who it is.
func (w Who) String() string {
	name := w.Name
	if name == "" {
		name = "no name"
	}
	text := clean(name) + " at " + w.Host
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

func (t *text) denied(all []Denied) {
	if len(all) == 0 {
		return
	}
	t.WriteString("\nRefused by an ACL (ACL LOG):\n")
	for _, d := range all {
		t.paragraph("  - ", "    ", fmt.Sprintf("%s, %d times, user %s, %s: %s, on %s",
			clean(d.Object), d.Count, clean(d.Username), d.Context, d.Who, d.Server))
	}
}

// rest is what belongs to every report: what was not seen, and how it was counted.
func (t *text) rest(r *Report) {
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			t.WriteString("\n" + title + "\n")
		}
		for _, line := range lines {
			t.paragraph("  - ", "    ", line)
		}
	}
	var lines []string
	for _, u := range r.Unseen {
		line := fmt.Sprintf("%s: %s: %s", u.Server, u.What, u.Why)
		if u.Do != "" {
			line += "; " + u.Do
		}
		lines = append(lines, line)
	}
	list("Could not be looked at:", lines)
	lines = nil
	for _, a := range r.Attributed {
		lines = append(lines, fmt.Sprintf("%s: %s %s: %s", a.Server, grouped(a.Uses), a.Command, a.To))
	}
	list("Counted for nobody:", lines)
	lines = nil
	for _, m := range r.Monitored {
		lines = append(lines, fmt.Sprintf("%s: %s in %.1f s; it ended, for %s",
			m.Server, plural(int64(m.Lines), "line"), m.Seconds, m.Ended))
	}
	list("MONITOR, which is a sample:", lines)
	lines = r.Notes
	for _, s := range r.Servers {
		lines = append(lines, fmt.Sprintf("%s: %s, %s, %s, %s, looked at %s times, clients %s times",
			s.Addr, s.Product, s.Role, plural(s.Commands, "command"), plural(int64(s.Clients), "client"),
			grouped(int64(s.Looks)), grouped(int64(s.Lists))))
	}
	list("How:", lines)
}
