package domains

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// readJSON reads a document of which nothing is lost. encoding/json takes what is not
// UTF-8 for U+FFFD, so that two names can become one.
func readJSON(text string, dst any) error {
	if !utf8.ValidString(text) {
		return &trouble{"what is stored is not UTF-8"}
	}
	if loneSurrogate(text) {
		return &trouble{"what is stored has half of a surrogate pair, which stands for no character"}
	}
	return json.Unmarshal([]byte(text), dst)
}

// loneSurrogate reports whether a JSON text has an escape of half a surrogate pair.
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

// surrogate returns the half of a surrogate pair whose escape text begins with, and the
// length of that; 0 if it is none.
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
