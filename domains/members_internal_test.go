package domains

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
