package domains

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzLoneSurrogate checks that a text has half a surrogate pair if and only if encoding/json replaces
// something by U+FFFD.
func FuzzLoneSurrogate(f *testing.F) {
	for _, s := range []string{
		``, `a`, `\ud800`, `\udc00`, `\ud83d\ude42`, `\ud83d\ud83d\ude42`, `\\ud800`, `\\\ud800`, `\ud83d\n`, `\ud83dx`, `\uD83D\uDE42`,
		`\ufffd`, `\udc00\ud800`, "\uFFFD", `\u00e9\"`, `\ud800\\udc00`,
	} {
		f.Add(s)
	}
	written := regexp.MustCompile(`(?i)\\ufffd|\x{FFFD}`)
	f.Fuzz(func(t *testing.T, s string) {
		text := `"` + s + `"`
		loneSurrogate(s) // any text: no panic
		if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
			return
		}
		if written.MatchString(text) {
			return
		}
		var read string
		require.NoError(t, json.Unmarshal([]byte(text), &read))
		require.Equal(t, strings.ContainsRune(read, utf8.RuneError), loneSurrogate(text))
	})
}
