package wrap

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Width is the width of a terminal, in characters.
const Width = 80

// Table is a table of text. The zero Table is not usable: call [NewTable].
type Table struct {
	rows    [][]string
	numbers []bool // by column
}

// NewTable names the columns. A name that begins with # aligns its column right, for numbers.
func NewTable(columns ...string) *Table {
	t := &Table{rows: [][]string{columns}, numbers: make([]bool, len(columns))}
	for i := range columns {
		columns[i], t.numbers[i] = strings.CutPrefix(columns[i], "#")
	}
	return t
}

// Empty reports whether the table has no row below its head.
func (t *Table) Empty() bool { return len(t.rows) == 1 }

// Row adds a row. An int64 is one cell, an []int64 one cell for each number.
func (t *Table) Row(values ...any) {
	var cells []string
	for _, value := range values {
		switch v := value.(type) {
		case int64:
			cells = append(cells, Grouped(v))
		case []int64:
			for _, n := range v {
				cells = append(cells, Grouped(n))
			}
		default:
			cells = append(cells, Printable(fmt.Sprint(v)))
		}
	}
	t.rows = append(t.rows, cells)
}

// String returns the table, indented by two blanks, in lines of at most [Width] characters.
// A table that is too wide shortens its widest columns.
func (t *Table) String() string {
	const gap = "  "
	widths := make([]int, len(t.numbers))
	room := Width
	for i := range widths {
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		room -= len(gap) + widths[i]
	}
	for ; room < 0; room++ {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	var out strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			cell = Shorten(cell, widths[i])
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if line.WriteString(gap); t.numbers[i] {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// Shorten removes the middle of s if s has more than n characters: names differ at both ends.
func Shorten(s string, n int) string {
	const gap = ".."
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	if n <= len(gap) {
		return string(runes[:max(n, 0)])
	}
	front := (n - len(gap) + 1) / 2
	return string(runes[:front]) + gap + string(runes[len(runes)-(n-len(gap)-front):])
}
