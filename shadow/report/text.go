package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

// WriteText writes the Report for a terminal of 80 columns, or a log: no line is longer, and there
// are no colours. The first line is the verdict under p. The gates that are closed follow, with
// a remedy each, and then the tables of the page. Empty sections are left out. In a test, write to
// t.Output().
func (r *Report) WriteText(w io.Writer, p Policy) error {
	t := text{page: newPage(r, p)}
	t.head()
	t.gates("What blocks", NotReady)
	t.gates("What is missing", NotEnoughData)
	if len(t.Verdict.in(Ready)) > 0 {
		t.WriteString("\n")
		t.heading("", t.Passed())
	}
	t.tables()
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("report: writing text: %w", err)
	}
	return nil
}

type text struct {
	strings.Builder
	*page
}

// paragraph writes words in lines that fit, after lead in the first line, and after as many blanks in
// the others. A heading is indented below its first line.
func (t *text) paragraph(lead, words string) { t.wrapped(lead, strings.Repeat(" ", len(lead)), words) }
func (t *text) heading(lead, words string)   { t.wrapped(lead, lead+"  ", words) }

func (t *text) wrapped(lead, indent, words string) {
	fields := strings.Fields(words)
	for i := range fields {
		fields[i] = wrap.Shorten(wrap.Printable(fields[i]), wrap.Width-utf8.RuneCountInString(indent)-1)
	}
	t.WriteString(wrap.Paragraph(wrap.Width, lead, indent, strings.Join(fields, " ")))
}

func (t *text) head() {
	t.heading("", t.Verdict.Headline)
	t.heading("", fmt.Sprintf("%s. %s. Build %s. Covers %s, until %s.",
		cmp.Or(t.Name, "shadow"), t.Now(), pageOr(t.Build), t.Covers(), wrap.Time(t.Taken)))
	if t.AA {
		t.heading("", "A calibration (A/A): whatever differs is noise of the comparison itself.")
	}
}

// gates lists the gates of one state, each with a remedy.
func (t *text) gates(title string, state State) {
	for i, g := range t.Verdict.in(state) {
		if i == 0 {
			t.WriteString("\n" + title + "\n")
		}
		t.heading("  ", g.about())
		t.paragraph("    have  ", g.Have)
		t.paragraph("    need  ", g.Need)
		if g.Why != "" {
			t.paragraph("    why   ", g.Why)
		}
	}
}

// tables writes the tables of the page, without the columns for which a terminal has no room.
func (t *text) tables() {
	if len(t.Totals) > 0 {
		calls, classes := t.CallsTable(), t.ClassTable()
		t.table(calls, 0, 1, 2)
		t.notes(calls)
		for _, bar := range t.Bars() {
			t.heading("  ", bar.Name+": "+bar.Sum+": "+bar.Desc)
		}
		t.table(classes, 0, 1, 2)
		t.notes(classes)
	}
	health, latency, fleet := t.HealthTable(), t.Latency(), t.Fleet()
	t.table(health, 0, 1)
	t.notes(health)
	t.table(t.Findings(), 0, 1, 2, 3, 4)
	t.table(t.Harmless(), 0, 1, 2, 3, 4)
	t.table(latency.Table, 0, 1, 2, 3, 4, 5, 6)
	t.table(latency.Rest, 0, 1, 2, 3, 4, 5, 6)
	t.table(t.Coverage(), 0, 1, 2, 5, 6)
	t.table(t.Dirty(), 0, 1, 2, 3, 4, 6)
	t.samples()
	t.table(fleet, 0, 1, 2, 3, 4, 6, 7)
	t.notes(fleet)
	t.table(t.Switches(), 0, 1, 2)
}

// table writes some columns of a table below its title, unless it is empty.
func (t *text) table(in *htmlpage.Table, columns ...int) {
	if in == nil || len(in.Rows) == 0 {
		return
	}
	head := make([]string, len(columns))
	for i, column := range columns {
		if head[i] = in.Head[column].Text; in.Head[column].Kind == "num" {
			head[i] = "#" + head[i]
		}
	}
	out := wrap.NewTable(head...)
	for _, row := range in.Rows {
		row = slices.Concat(make([]htmlpage.Cell, len(in.Head)-len(row)), row) // below a cell of two rows
		cells := make([]any, len(columns))
		for i, column := range columns {
			cells[i] = row[column].Text
			if tag := row[column].Tag; tag != "" {
				cells[i] = row[column].Text + " (" + tag + ")"
			}
		}
		out.Row(cells...)
	}
	t.WriteString("\n")
	t.heading("", in.Label)
	t.WriteString(out.String())
	if in.Note != "" {
		t.paragraph("  ", in.Note)
	}
}

// notes writes the small print of the cells.
func (t *text) notes(in *htmlpage.Table) {
	for _, row := range in.Rows {
		for _, cell := range row {
			if cell.Sub != "" {
				t.heading("  ", row[0].Text+": "+cell.Sub)
			}
		}
	}
}

// samples shows a few samples. The page and the JSON have more.
func (t *text) samples() {
	const shown = 3
	for _, s := range t.Samples[:min(len(t.Samples), shown)] {
		t.table(pageDiffers(s), 0, 1, 2)
		by := []string{operationName(s.Domain, s.Operation), s.Class.info().text, "found by " + string(s.Comparator), "key " + s.Key,
			wrap.Time(s.At), s.Process}
		t.heading("  ", strings.Join(slices.DeleteFunc(by, func(s string) bool { return s == "" }), ", "))
		if s.Explain != "" {
			t.heading("  ", s.Explain)
		}
	}
	if more := len(t.Samples) - shown; more > 0 {
		t.heading("  ", "and "+wrap.Counted(more, "more sample"))
	}
}
