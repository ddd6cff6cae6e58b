package diff_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

// FuzzCompare compares any two strings, as they are and as fields of hashes. The digests
// must agree, the result must be symmetric, and encoding/json must read the same document.
func FuzzCompare(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1,"set":[1,2,{"a":[]}]}`, `{"a":1.0,"set":[2,{"a":[],"b":0},1]}`},
		{`{"a":1,"a":2}`, `{"\u0061":2}`},
		{`["\ud83d\ude00\ud83d"]`, `["😀\ude00\u0000"]`},
		{"[\"\xff\"]", "7"},
		{`[1e99999999999999999999,-0]`, `[10E+99999999999999999998,0]`},
		{"", " [] "},
		{`[{"id":1,"x":null},{"id":2}]`, `[{"id":2,"x":null},{"id":1}]`},
	} {
		f.Add(seed[0], seed[1])
	}
	c := compile(f, diff.Rules{
		Sets: []string{".", "set", "*.set", "[].set", "[]"}, Ignore: []string{"ignored", "[].ignored[]"}, Show: []string{".", "a"},
	})
	plain := compile(f, diff.Rules{})
	redactor := diff.NewRedactor([]byte("k"))
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, c := range []*diff.Comparer{c, plain} {
			for _, r := range []diff.Result{
				agree(t, c, rmw.String(a), rmw.String(b)), agree(t, c, hash("x", a, a, b), hash("x", b, b, a)),
			} {
				for _, d := range r.Differences {
					_, _, _ = redactor.Token(d.A), redactor.Token(d.B), redactor.Path(d)
				}
			}
		}
		checkReading(t, plain, a)
	})
}

// checkReading compares the reader with that of encoding/json.
func checkReading(t *testing.T, c *diff.Comparer, s string) {
	read := !strings.HasPrefix(c.Compare(rmw.String(s), rmw.Value{}).Differences[0].A.String(), "bytes(")
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if start := strings.TrimLeft(s, " \t\r\n"); !json.Valid([]byte(s)) || start[0] != '{' && start[0] != '[' {
		require.False(t, read)
		return
	}
	require.NoError(t, d.Decode(&v))
	if !read {
		require.True(t, !utf8.ValidString(s) || hasDuplicate(json.NewDecoder(strings.NewReader(s))), "not read: %q", s)
		return
	}
	again, err := json.Marshal(v)
	require.NoError(t, err)
	if strings.ContainsRune(string(again), utf8.RuneError) || strings.Contains(string(again), `\ufffd`) {
		return // half a pair, which encoding/json replaces
	}
	require.True(t, c.Compare(rmw.String(s), rmw.String(string(again))).Same, "read as something else than %q", again)
}

// hasDuplicate reports whether an object in the next value has two fields of one name.
func hasDuplicate(d *json.Decoder) bool {
	opening, err := d.Token()
	if delim, ok := opening.(json.Delim); err != nil || !ok || delim != '{' && delim != '[' {
		return false
	}
	found, seen := false, map[string]bool{}
	for d.More() {
		if opening == json.Delim('{') {
			token, _ := d.Token()
			name, _ := token.(string)
			found = found || seen[name]
			seen[name] = true
		}
		found = hasDuplicate(d) || found
	}
	_, _ = d.Token()
	return found
}
