package domains

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// readJSON decodes a document without loss. encoding/json replaces invalid UTF-8 by U+FFFD, so that two names
// can become one; readJSON returns an error.
func readJSON(text string, dst any) error {
	if !utf8.ValidString(text) {
		return &trouble{"the stored text is not UTF-8"}
	}
	if loneSurrogate(text) {
		return &trouble{"the stored JSON contains a lone UTF-16 surrogate"}
	}
	return json.Unmarshal([]byte(text), dst)
}

// loneSurrogate reports whether a JSON text escapes half a surrogate pair.
func loneSurrogate(text string) bool {
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		escape := text[i:]
		high, n := surrogate(escape)
		if n == 0 {
			text = escape[len(`\\`):]
			continue
		}
		low, m := surrogate(escape[n:])
		if m == 0 || utf16.DecodeRune(high, low) == utf8.RuneError {
			return true
		}
		text = escape[n+m:]
	}
}

// surrogate returns the surrogate half that text begins with, and the length of its escape; 0 if there is none.
func surrogate(text string) (half rune, n int) {
	const length = len(`\u0000`)
	if len(text) < length || text[:2] != `\u` {
		return 0, 0
	}
	code, err := strconv.ParseUint(text[2:length], 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(code)) {
		return 0, 0
	}
	return rune(code), length
}
