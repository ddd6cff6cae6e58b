// Package wrap formats text for a terminal: paragraphs, tables, numbers and names.
package wrap

import (
	"regexp"
	"strings"
)

// longest is the number of characters of a word. A key has up to 512 MB.
const longest = 200

// words shortens each word of a text that has more than 200 characters.
func words(text string) string {
	if len(text) <= longest {
		return text
	}
	return word.ReplaceAllStringFunc(text, func(word string) string { return Shorten(word, longest) })
}

var word = regexp.MustCompile(`\S+`)

// Paragraph breaks text into lines of at most width characters, unless a word is longer: after lead in the
// first line, after indent in those below. It ends with a line end. Each line is safe as by Line, whatever
// lead and text contain. A word above 200 characters loses its middle.
func Paragraph(width int, lead, indent, text string) string {
	var out strings.Builder
	line := words(lead)
	for i, word := range strings.Fields(words(text)) {
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
