// Package wrap formats text for a terminal: paragraphs, tables, numbers and names.
package wrap

import "strings"

// Paragraph breaks text into lines of at most width characters, unless a word is longer: after lead in the
// first line, after indent in those below. It ends with a line end. Each line is safe as by Line, whatever
// lead and text contain.
func Paragraph(width int, lead, indent, text string) string {
	var out strings.Builder
	line := lead
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len([]rune(line))+1+len([]rune(word)) > width:
			out.WriteString(Line(line) + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return out.String() + Line(line) + "\n"
}
