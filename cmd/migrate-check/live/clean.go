package live

import (
	"strings"
	"unicode"
)

// printable is a text of others without what a terminal would act upon, or what would make
// something else of the text: escape sequences, ends of lines, marks of direction, bytes that
// are no characters. All that a server tells goes through it before it is kept.
func printable(text string) string {
	if isPlain(text) { // as good as always
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// clean is a text of others in one line, and of a bearable length.
func clean(text string) string {
	const most = 200
	text = printable(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
