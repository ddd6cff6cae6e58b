// Package wrap lays out paragraphs for a terminal.
package wrap

import "strings"

// Paragraph puts the words of text into lines of at most width characters, unless a word
// is longer: after lead in the first line, after indent in those below. It ends with the
// end of a line. Each line is one that Line returns, whatever lead and text hold.
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
