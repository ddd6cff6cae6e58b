package output

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// width is the maximum of columns in a line. Only a path or a word may be longer.
const width = 80

// text prints like go vet: a finding begins with its position, for editors and grep.
func text(w io.Writer, r *finding.Report, o Options) error {
	var b strings.Builder
	advised := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Suppressed != nil {
			continue
		}
		one(&b, f, o)
		if f.Change == nil && f.Advice != "" && !advised[f.Rule] {
			advised[f.Rule] = true
			detail(&b, "advice: ", f.Advice)
		}
	}
	b.WriteString(summary(&r.Summary))
	_, err := io.WriteString(w, b.String())
	return err
}

var colours = map[rules.Severity]string{
	rules.Critical: "\x1b[1;31m", rules.Error: "\x1b[31m", rules.Warning: "\x1b[33m", rules.Note: "\x1b[36m",
}

func one(b *strings.Builder, f *finding.Finding, o Options) {
	head := wrap.Line(fmt.Sprintf("%s:%d:%d: ", o.path(f.Path), f.Line, f.Column))
	text := wrap.Paragraph(width, head, "    ", f.Message+inLabels(f))
	if o.Colour {
		text = "\x1b[1m" + head + "\x1b[0m" + colours[f.Severity] + strings.TrimPrefix(text, head)
		text = strings.TrimSuffix(text, "\n") + "\x1b[0m\n"
	}
	b.WriteString(text)
	if len(f.Stack) > 0 {
		detail(b, "reached from: ", stack(f.Stack, o))
	} else if f.Reach == "none" {
		detail(b, "", "not reached from any main, test or exported function")
	}
	if n := len(f.Related); n > 0 {
		var places []string
		for _, p := range f.Related[:min(n, 8)] {
			places = append(places, fmt.Sprintf("%s:%d", o.path(p.Path), p.Line))
		}
		if n > len(places) {
			places = append(places, fmt.Sprintf("and %d more", n-len(places)))
		}
		detail(b, f.Related[0].Message+": ", strings.Join(places, ", "))
	}
	if f.Change != nil {
		change(b, f.Change, o)
	}
}

// change prints the explanation of a transaction.
func change(b *strings.Builder, c *finding.Change, o Options) {
	detail(b, "advice: ", c.Advice)
	for _, line := range [][2]string{
		{"watched: ", strings.Join(c.Watched, ", ")}, {"written: ", strings.Join(c.Written, ", ")},
		{"before: ", c.Before}, {"after: ", c.After}, {"expiry: ", c.TTL},
	} {
		if line[1] != "" && o.Traces {
			detail(b, line[0], line[1])
		}
	}
}

func detail(b *strings.Builder, head, text string) {
	b.WriteString(wrap.Paragraph(width, "    "+head, "      ", text))
}

func inLabels(f *finding.Finding) string {
	var words []string
	for _, l := range f.Labels {
		words = append(words, string(l))
	}
	if f.Confidence == finding.Low {
		words = append(words, "by its words only")
	}
	if len(words) == 0 {
		return ""
	}
	return " [" + strings.Join(words, ", ") + "]"
}

// stack prints a call path in a line. The middle of a long one is left out.
func stack(s []finding.Place, o Options) string {
	var names []string
	for i, p := range s {
		if !o.Traces && len(s) > 6 && i >= 2 && i < len(s)-3 {
			if i == 2 {
				names = append(names, "…")
			}
			continue
		}
		name := p.Message
		if o.Traces {
			name = fmt.Sprintf("%s (%s:%d)", name, o.path(p.Path), p.Line)
		}
		names = append(names, name)
	}
	return strings.Join(names, " → ")
}

// summary prints the counts, and the code that the check could not analyze.
func summary(s *finding.Summary) string {
	var b strings.Builder
	para := func(text string) { b.WriteString(wrap.Paragraph(width, "", "  ", text)) }
	head := "0 findings"
	if s.Findings > 0 {
		var parts []string
		for _, rule := range slices.Sorted(maps.Keys(s.Rules)) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Rules[rule], rule))
		}
		head = fmt.Sprintf("%s (%s)", wrap.Counted(s.Findings, "finding"), strings.Join(parts, ", "))
	}
	head += fmt.Sprintf(" in %s", wrap.Counted(s.Packages, "package"))
	if s.Files > 0 {
		head += fmt.Sprintf(" and %s of other languages", wrap.Counted(s.Files, "file"))
	}
	switch {
	case s.Lexical > 0 && s.Findings+s.Packages+s.Files == 0:
		head = fmt.Sprintf("no package could be loaded; %s by words does not count without -count-lexical", wrap.Counted(s.Lexical, "finding"))
		if s.Lexical > 1 {
			head = strings.Replace(head, "does not", "do not", 1)
		}
	case s.Lexical > 0:
		head += fmt.Sprintf("; %d by words do not count without -count-lexical", s.Lexical)
	}
	if n := s.Shown - s.Findings - s.Lexical; n > 0 {
		head += fmt.Sprintf("; %d not counted (notes, tests, or ignored)", n)
	}
	para(head)
	if len(s.Reach) > 0 {
		var parts []string
		for _, from := range slices.Sorted(maps.Keys(s.Reach)) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Reach[from], reached[from]))
		}
		para(strings.Join(parts, ", "))
	}
	if d := s.Baseline; d != nil {
		b.WriteString(burndown(d))
	}
	for _, u := range s.Unseen {
		text := "not looked at in full: "
		if u.Scanned && strings.HasSuffix(u.Path, ".go") {
			text = "looked at by its words only: "
		}
		para(text + u.Path + ": " + u.Reason)
	}
	for _, m := range s.Modules {
		para("not asked for: " + m.Path + ": " + m.Reason)
	}
	for _, line := range passed(s.Passed) {
		para(line)
	}
	if s.Interrupted {
		para("was interrupted: there may be more findings")
	}
	return b.String()
}

// passed lists the code that the check leaves out, in a line for each reason.
func passed(all []finding.Unseen) (lines []string) {
	paths := map[string][]string{}
	for _, p := range all {
		paths[p.Reason] = append(paths[p.Reason], p.Path)
	}
	for _, reason := range slices.Sorted(maps.Keys(paths)) {
		names := paths[reason]
		if n := len(names) - 3; n > 0 {
			names = append(names[:3:3], fmt.Sprintf("and %d more", n))
		}
		lines = append(lines, fmt.Sprintf("left out: %s: %s", strings.Join(names, ", "), reason))
	}
	return lines
}

var reached = map[string]string{
	"main": "reached from a main", "exported": "from exported functions", "test": "from tests only", "none": "not reached",
}

// burndown prints the progress of the migration as a bar: baseline 57 → 41.
func burndown(d *finding.Burndown) string {
	const bar = 20
	done := bar
	if d.Recorded > 0 {
		done = bar * (d.Recorded - d.Left) / d.Recorded
	}
	text := fmt.Sprintf("baseline %d → %d [%s%s]", d.Recorded, d.Left, strings.Repeat("#", done), strings.Repeat(".", bar-done))
	if len(d.Stale) > 0 {
		text += fmt.Sprintf("; %d gone: -write-baseline records the rest", len(d.Stale))
	}
	return wrap.Paragraph(width, "", "  ", text)
}
