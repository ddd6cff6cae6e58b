package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unwatch/unwatch/bench/internal/stats"
)

// column is a column of a table with rows of type R.
type column[R any] struct {
	head   string
	number func(*R) float64
	cell   func(*R) string // the text, if it is not the number
	unit   string          // in a line for benchstat; "": none
	scale  float64         // factor from number to unit; 0: 1
}

func (c column[R]) text(r *R) string {
	if c.cell != nil {
		return c.cell(r)
	}
	return stats.Short(c.number(r))
}

// writeTable writes a Markdown table, aligned for a terminal. It omits columns that are empty in all rows.
func writeTable[R any](w io.Writer, columns []column[R], rows []R) error {
	lines := make([][]string, 2+len(rows)) // the head and the rule come first
	for i, c := range columns {
		cells := make([]string, len(rows))
		for k := range rows {
			cells[k] = escape(c.text(&rows[k]))
		}
		if i > 0 && !slices.ContainsFunc(cells, func(text string) bool { return text != "-" && text != "" }) {
			continue
		}
		for k, text := range append([]string{c.head, "---"}, cells...) {
			lines[k] = append(lines[k], text)
		}
	}
	aligned := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, cells := range lines {
		if _, err := fmt.Fprintf(aligned, "| %s\t|\n", strings.Join(cells, "\t| ")); err != nil {
			return err
		}
	}
	return aligned.Flush()
}

// escape returns text for a cell of a Markdown table.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\t", " ", "<", "&lt;").Replace(text)
}
