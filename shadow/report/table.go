package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/wrap"
)

// width is that of a terminal, in characters.
const width = 80

// table is laid out in columns. One whose name in the head starts with # is of numbers.
type table struct{ rows [][]string }

func newTable(columns ...string) *table { return &table{[][]string{columns}} }

// row takes texts, and counts.
func (t *table) row(values ...any) {
	var cells []string
	for _, value := range values {
		switch v := value.(type) {
		case int64:
			cells = append(cells, grouped(v))
		case []int64:
			for _, n := range v {
				cells = append(cells, grouped(n))
			}
		default:
			cells = append(cells, wrap.Printable(fmt.Sprint(v)))
		}
	}
	t.rows = append(t.rows, cells)
}

// write lays it out, indented. Where it is too wide, the widest columns are made narrower.
func (t *table) write(out *strings.Builder) {
	const indent, gap = "  ", "  "
	head := t.rows[0]
	widths, numbers := make([]int, len(head)), make([]bool, len(head))
	for i, name := range head {
		head[i], numbers[i] = strings.CutPrefix(name, "#")
	}
	room := width - len(indent) + len(gap)
	for i := range head {
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		room -= widths[i] + len(gap)
	}
	for ; room < 0; room++ {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cell = shorten(cell, widths[i])
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if cells[i] = cell + space; numbers[i] {
				cells[i] = space + cell
			}
		}
		out.WriteString(strings.TrimRight(indent+strings.Join(cells, gap), " ") + "\n")
	}
}

// shorten takes out of the middle of s what is more than n characters: names differ at
// both ends.
func shorten(s string, n int) string {
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

// paragraph writes text in lines that fit, after lead in the first and indent in others.
func paragraph(out *strings.Builder, lead, indent, text string) {
	words := strings.Fields(text)
	for i := range words {
		words[i] = shorten(wrap.Printable(words[i]), width-utf8.RuneCountInString(indent)-1)
	}
	// A first word that does not fit behind lead, alone in a line, does: leads are short.
	out.WriteString(wrap.Paragraph(width, lead, indent, strings.Join(words, " ")))
}
