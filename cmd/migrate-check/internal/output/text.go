package output

import (
	"cmp"
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

// text prints like go vet: a finding begins with its position, for editors and grep. Off a terminal each finding is one
// line, unless Traces asks for its details.
func text(w io.Writer, r *finding.Report, o Options) error {
	p := &printer{o: o}
	advised := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Suppressed != nil {
			continue
		}
		p.one(f)
		if f.Change == nil && f.Advice != "" && !advised[f.Rule] {
			advised[f.Rule] = true
			p.detail("advice: ", f.Advice)
		}
	}
	p.WriteString(summary(r, o))
	_, err := io.WriteString(w, p.String())
	return err
}

// printer prints findings.
type printer struct {
	strings.Builder
	o Options
}

var colours = map[rules.Severity]string{
	rules.Critical: "\x1b[1;31m", rules.Error: "\x1b[31m", rules.Warning: "\x1b[33m", rules.Note: "\x1b[36m",
}

func (p *printer) one(f *finding.Finding) {
	head := wrap.Line(fmt.Sprintf("%s:%d:%d: ", p.o.path(f.Path), f.Line, f.Column))
	text := p.o.paragraph(head, "    ", f.Message+inLabels(f))
	if p.o.Colour {
		text = "\x1b[1m" + head + "\x1b[0m" + colours[f.Severity] + strings.TrimPrefix(text, head)
		text = strings.TrimSuffix(text, "\n") + "\x1b[0m\n"
	}
	p.WriteString(text)
	if len(f.Stack) > 0 {
		p.detail("reached from: ", stack(f.Stack, p.o))
	} else if f.Reach == "none" {
		p.detail("", "not reached from any main, test or exported function")
	}
	if n := len(f.Related); n > 0 {
		var places []string
		for _, at := range f.Related[:min(n, 8)] {
			places = append(places, fmt.Sprintf("%s:%d", p.o.path(at.Path), at.Line))
		}
		if n > len(places) {
			places = append(places, fmt.Sprintf("and %d more", n-len(places)))
		}
		p.detail(f.Related[0].Message+": ", strings.Join(places, ", "))
	}
	if f.Change != nil {
		p.change(f.Change)
	}
}

// change prints the explanation of a transaction, as far as its message does not have it.
func (p *printer) change(c *finding.Change) {
	if c.After != "" {
		p.detail("advice: ", c.Advice)
	}
	for _, line := range [][2]string{
		{"watched: ", strings.Join(c.Watched, ", ")}, {"written: ", strings.Join(c.Written, ", ")},
		{"before: ", c.Before}, {"after: ", c.After}, {"expiry: ", c.TTL},
	} {
		if line[1] != "" && p.o.Traces {
			p.detail(line[0], line[1])
		}
	}
}

func (p *printer) detail(head, text string) {
	if p.o.Terminal || p.o.Traces {
		p.WriteString(p.o.paragraph("    "+head, "      ", text))
	}
}

// paragraph wraps a text for a terminal. Otherwise it is one line.
func (o Options) paragraph(head, indent, text string) string {
	if o.Terminal {
		return wrap.Paragraph(width, head, indent, text)
	}
	line := strings.ReplaceAll(head+text, "\n", " ")
	inner := strings.TrimLeft(line, " ")
	return line[:len(line)-len(inner)] + wrap.Line(inner) + "\n"
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
func summary(r *finding.Report, o Options) string {
	s := &r.Summary
	var b strings.Builder
	para := func(text string) { b.WriteString(o.paragraph("", "  ", text)) }
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
	if s.Lexical > 0 {
		head += fmt.Sprintf("; %d by words do not count with -count-lexical=false", s.Lexical)
	}
	if n := s.Shown - s.Findings - s.Lexical; n > 0 {
		head += fmt.Sprintf("; %d not counted (notes, tests, or ignored)", n)
	}
	if s.Interrupted {
		head = "interrupted before the end; so far " + head
	}
	para(head)
	if first := order(r); first != "" {
		para(first)
	}
	if len(s.Reach) > 0 {
		var parts []string
		for _, from := range slices.Sorted(maps.Keys(s.Reach)) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Reach[from], reached[from]))
		}
		para(strings.Join(parts, ", "))
	}
	if d := s.Baseline; d != nil {
		para(burndown(d))
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
	return text
}

// order says in which order to work: lost updates of today first, then by severity, and the rules with most findings first.
func order(r *finding.Report) string {
	type group struct {
		rule  rules.Rule
		n     int
		funcs map[string]bool
	}
	groups := map[string]*group{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Counts() {
			continue
		}
		g := groups[f.Rule]
		if g == nil {
			rule, _ := rules.Of(f.Rule)
			g = &group{rule: rule, funcs: map[string]bool{}}
			groups[f.Rule] = g
		}
		g.n++
		g.funcs[f.Path+" "+f.Func] = true
	}
	if len(groups) < 2 {
		return ""
	}
	rank := func(g *group) int {
		if g.rule.ID == "MC104" {
			return -1
		}
		return slices.Index(rules.Severities(), g.rule.Severity)
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.n, a.n), cmp.Compare(a.rule.ID, b.rule.ID))
	})
	var parts []string
	for _, g := range sorted {
		parts = append(parts, fmt.Sprintf("%d × %s in %s (%s)", g.n, g.rule.Summary, wrap.Counted(len(g.funcs), "function"), g.rule.ID))
	}
	return "first " + strings.Join(parts, ", then ")
}
