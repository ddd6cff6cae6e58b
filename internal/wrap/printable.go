package wrap

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable replaces with "?" each character that a terminal would interpret, or that would reorder or
// break the text: control characters, including escape sequences and line ends, direction marks, and bytes
// that are not UTF-8.
func Printable(text string) string {
	if isPlain(text) { // the common case
		return text
	}
	return strings.Map(func(r rune) rune {
		if isPrintable(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// Text is Printable for a text of several lines: line ends and tabs stay.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || isPrintable(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// isPrintable includes the wide blank of Chinese text, which unicode.IsPrint does not.
func isPrintable(r rune) bool { return r != unicode.ReplacementChar && unicode.IsGraphic(r) }

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// command matches a command to a CI runner: GitHub's executes a line that starts with "::"
// behind blanks, and "##[" anywhere in a line; that of Azure executes "##vso[".
var command = regexp.MustCompile(`(^[\s\p{Z}]*):(:)|#(#\w*\[)`)

// Line returns one line of output as Printable does, and without commands to a CI runner: a
// "?" replaces the first character of a command.
func Line(text string) string { return command.ReplaceAllString(Printable(text), "${1}?${2}${3}") }

// Lines applies Line to each line of a text. Tabs stay, and "\r\n" as the end of a line.
func Lines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		bare, ended := strings.CutSuffix(line, "\n")
		if ended {
			bare = strings.TrimSuffix(bare, "\r")
		}
		parts := strings.Split(bare, "\t")
		for i, part := range parts {
			parts[i] = Printable(part)
		}
		out.WriteString(command.ReplaceAllString(strings.Join(parts, "\t"), "${1}?${2}${3}"))
		out.WriteString(strings.TrimPrefix(line, bare))
	}
	return out.String()
}

// WriteJSON writes a value as indented JSON, with the escapes of [JSON].
func WriteJSON(w io.Writer, v any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, JSON(text.String()))
	return err
}

// JSON escapes in a JSON text what Printable and Line replace. The values stay the same.
func JSON(text string) string {
	var out strings.Builder
	for _, r := range strings.ReplaceAll(text, "##", `#\u0023`) {
		switch {
		case r == '\n' || r == '\t' || isPrintable(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
