package domains

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two futures of one state do not write into each other's memory.
func TestRecordCopies(t *testing.T) {
	var past Header
	past.record(Op{ID: "a"}, 0)
	past.Applied = append(make([]Applied, 0, 8), past.Applied...)
	one, other := past, past
	one.record(Op{ID: "one"}, 1)
	other.record(Op{ID: "other"}, 2)
	assert.Equal(t, []Applied{{ID: "a"}}, past.Applied)
	assert.Equal(t, []Applied{{ID: "a"}, {ID: "one", Number: 1}}, one.Applied)
	assert.Equal(t, []Applied{{ID: "a"}, {ID: "other", Number: 2}}, other.Applied)
}

// FuzzMembers: the scanner takes any bytes, and of an object it finds the members that the decoder of
// encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"\`, `{"a":{"\`, `{"a":]}`, `{"a" 1 "b"}`, `[1]`, "{\"a\":\"\\",
		`{"a":1}`, ` { "a" : [ 1 , "]" ] , "b\"" : {"c":"}\\"} , "a":null } `, `{"\ud83d\ude42":-1e5,"x":"\u0022"}`, "{\"\xff\":true}",
		"{\"a\":1\t,\"b\":2\r}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		assert.LessOrEqual(t, valueEnd(data), len(data))
		var names []string
		var values []json.RawMessage
		for quoted, raw := range members(data) {
			names = append(names, unquote(quoted))
			values = append(values, raw)
		}
		if !json.Valid(data) || bytes.TrimLeft(data, " \t\r\n")[0] != '{' {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		_, err := dec.Token()
		require.NoError(t, err)
		i := 0
		for ; dec.More(); i++ {
			require.Less(t, i, len(names))
			name, err := dec.Token()
			require.NoError(t, err)
			var raw json.RawMessage
			require.NoError(t, dec.Decode(&raw))
			// The decoder replaces invalid UTF-8 by U+FFFD; the scanner keeps it.
			require.Equal(t, name, string([]rune(names[i])))
			require.Equal(t, string(raw), string(values[i]))
		}
		require.Len(t, names, i)
	})
}

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
