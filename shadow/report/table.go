package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/wrap"
)

// width is that of a terminal, in characters.
const width = 80

// table is laid out in columns: the first is text, and so are those that it names, the
// others are numbers.
type table struct {
	rows [][]string
	text map[int]bool
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// write lays it out, indented. Where it is too wide, the widest columns are made narrower.
func (t *table) write(out *strings.Builder) {
	const indent, gap = "  ", 2
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	room := width - len(indent) - gap*(len(widths)-1)
	for sum(widths) > room {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, cell := range row {
			cell = shorten(cell, widths[i])
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || t.text[i] {
				line.WriteString(cell + space)
			} else {
				line.WriteString(space + cell)
			}
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", gap))
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func sum(of []int) (n int) {
	for _, i := range of {
		n += i
	}
	return n
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

// printable replaces what could steer a terminal: names come from users.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// paragraph writes text in lines that fit, after lead in the first and indent in others.
func paragraph(out *strings.Builder, lead, indent, text string) {
	words := strings.Fields(text)
	for i := range words {
		words[i] = shorten(printable(words[i]), width-utf8.RuneCountInString(indent)-1)
	}
	// A first word that does not fit behind lead, alone in a line, does: leads are short.
	out.WriteString(wrap.Paragraph(width, lead, indent, strings.Join(words, " ")))
}
