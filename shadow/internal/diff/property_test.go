package diff_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

// everywhere returns templates of a field at all depths of a document.
func everywhere(field string) (all []string) {
	above := []string{""}
	for range depth + 1 {
		var deeper []string
		for _, a := range above {
			all = append(all, strings.TrimPrefix(a+"."+field, "."))
			deeper = append(deeper, strings.TrimPrefix(a+".*", "."), a+"[]")
		}
		above = deeper
	}
	return all
}

// inForms returns both documents as strings, each in one of its forms.
func inForms(t *rapid.T, a, b any) (rmw.Value, rmw.Value) {
	forms := rapid.Uint64()
	return encode(a, forms.Draw(t, "form of a"), false), encode(b, forms.Draw(t, "form of b"), false)
}

func TestReencodedIsTheSame(t *testing.T) {
	c := compile(t, diff.Rules{Sets: everywhere("set")})
	rapid.Check(t, func(t *rapid.T) {
		document := documents.Draw(t, "document")
		a, b := inForms(t, document, document)
		require.True(t, agree(t, c, a, a).Same)
		r := agree(t, c, a, b)
		require.Empty(t, found(r))
		require.Equal(t, a.Text() != b.Text(), r.EncodingOnly)
		require.True(t, agree(t, c, hash("plain", "7", "document", a.Text()), hash("plain", "7", "document", b.Text())).Same)
	})
}

// One change is found once, at its place; within a set, in that set; and only if its place is not ignored.
func TestMutationIsFoundInPlace(t *testing.T) {
	ordered, sets := compile(t, diff.Rules{}), compile(t, diff.Rules{Sets: everywhere("set")})
	ignoring := compile(t, diff.Rules{Sets: everywhere("set"), Ignore: everywhere("b")})
	rapid.Check(t, func(t *rapid.T) {
		before := documents.Draw(t, "document")
		m := rapid.SampledFrom(mutations(before, "", "")).Draw(t, "mutation")
		form := rapid.Uint64().Draw(t, "form")
		// Without a rule for sets, the order of their elements has to be the same.
		r := agree(t, ordered, encode(before, form, true), encode(m.after, form+1, true))
		require.Len(t, r.Differences, 1)
		require.Zero(t, r.More)
		require.Equal(t, m.template, r.Differences[0].Template)

		a, b := inForms(t, before, m.after)
		r = agree(t, sets, a, b)
		require.NotEmpty(t, r.Differences)
		for _, d := range r.Differences {
			if m.set == "" {
				require.Equal(t, m.template, d.Template)
			} else {
				require.True(t, strings.HasPrefix(d.Template, m.set), "%s is not in %s", d.Template, m.set)
			}
		}

		ignored := slices.Contains(strings.Split(strings.ReplaceAll(m.template, "[]", ""), "."), "b")
		require.Equal(t, ignored, agree(t, ignoring, a, b).Same)
	})
}

// No part of a report shows content, unless a rule shows it.
func TestContentIsRedacted(t *testing.T) {
	content := regexp.MustCompile(`[A-Z]{4}|[0-9]{9}`) // a token has eight digits
	redactor := diff.NewRedactor(nil)
	hidden := compile(t, diff.Rules{Sets: everywhere("set")})
	shown := compile(t, diff.Rules{Sets: everywhere("set"), Show: everywhere("a")})
	told := func(t require.TestingT, c *diff.Comparer, a, b rmw.Value) (hidden, shown string) {
		for _, d := range agree(t, c, a, b).Differences {
			hidden += d.Template + "\n" + redactor.Path(d) + "\n"
			tokens := redactor.Token(d.A) + "\n" + redactor.Token(d.B) + "\n"
			if d.Template == "a" || strings.HasSuffix(d.Template, ".a") {
				shown += tokens
			} else {
				hidden += tokens
			}
		}
		return hidden, shown
	}
	_, control := told(t, shown, rmw.String(`{"a":"ONE9"}`), rmw.String(`{"a":"OTHER"}`))
	assert.Regexp(t, content, control)
	rapid.Check(t, func(t *rapid.T) {
		a, b := inForms(t, documents.Draw(t, "before"), documents.Draw(t, "after"))
		some, _ := told(t, shown, a, b)
		require.NotRegexp(t, content, some)
		for _, pair := range [][2]rmw.Value{
			{a, b}, {rmw.String(a.Text() + "#"), b}, {hash("x", a.Text()), hash("x", a.Text()+"#")},
		} {
			none, inA := told(t, hidden, pair[0], pair[1])
			require.NotRegexp(t, content, none+inA)
		}
	})
}

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
