package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unwatch/unwatch/bench/internal/stats"
)

// column is a column of a table with rows of type R.
type column[R any] struct {
	head   string           // the terminal shows the text after the first blank in a second line
	number func(*R) float64 // or:
	cell   func(*R) string
	wide   bool // on the page only
}

func (c column[R]) text(r *R) string {
	if c.cell != nil {
		return c.cell(r)
	}
	return stats.Short(c.number(r))
}

// grid is a table as text.
type grid struct {
	Head []string
	Rows [][]string
}

// gridOf omits columns that are empty in all rows.
func gridOf[R any](columns []column[R], rows []R, wide bool) grid {
	g := grid{Rows: make([][]string, len(rows))}
	for i, c := range columns {
		cells := make([]string, len(rows))
		for k := range rows {
			cells[k] = c.text(&rows[k])
		}
		silent := !slices.ContainsFunc(cells, func(text string) bool { return text != "-" && text != "" })
		if c.wide && !wide || silent && i > 0 {
			continue
		}
		g.Head = append(g.Head, c.head)
		for k, text := range cells {
			g.Rows[k] = append(g.Rows[k], text)
		}
	}
	return g
}

// markdown returns the table for a page.
func (g grid) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(strings.Split(strings.ReplaceAll(strings.Join(g.Head, "\n"), " /", "/"), "\n"))
	b.WriteString(strings.Repeat("|---", len(g.Head)) + "|\n")
	for _, row := range g.Rows {
		safe := make([]string, len(row))
		for i, text := range row {
			safe[i] = cell(text)
		}
		line(safe)
	}
	return b.String()
}

// text prints the table for a terminal, with notes below the rows.
func (g grid) text(b *strings.Builder, below func(row int) string) {
	var first, second []string
	for _, head := range g.Head {
		above, unit, _ := strings.Cut(head, " ")
		first, second = append(first, above), append(second, unit)
	}
	width := make([]int, len(g.Head))
	for _, row := range append([][]string{first, second}, g.Rows...) {
		for i, text := range row {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	line := func(cells []string) {
		fmt.Fprintf(b, "%-*s", width[0], cells[0])
		for i, text := range cells[1:] {
			fmt.Fprintf(b, " %*s", width[i+1], text)
		}
		b.WriteByte('\n')
	}
	line(first)
	line(second)
	for i, row := range g.Rows {
		line(row)
		if text := below(i); text != "" {
			fmt.Fprintf(b, "%*s ^ %.90s\n", width[0], "", text)
		}
	}
}
