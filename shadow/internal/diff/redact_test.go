package diff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

func TestTokens(t *testing.T) {
	r, c := diff.NewRedactor([]byte("k")), compile(t, diff.Rules{})
	of := func(value string) string {
		return r.Token(c.Compare(rmw.String(`{"a":`+value+`}`), rmw.String(`{}`)).Differences[0].A)
	}
	for value, want := range map[string]string{
		"null": `^null$`, "true": `^true$`, "false": `^false$`, "0": `^0$`, "-0.0e5": `^0$`, `""`: `^""$`, `"0"`: `^"0"$`,
		"1": `^number#[0-9a-f]{8}$`, `"héllo"`: `^string\(6\)#[0-9a-f]{8}$`,
		"[1,2]": `^array\(2\)#[0-9a-f]{8}$`, `{"a":1}`: `^object\(1\)#[0-9a-f]{8}$`, "[]": `^array\(0\)#[0-9a-f]{8}$`,
	} {
		assert.Regexp(t, want, of(value))
	}
	assert.Equal(t, of("1"), of("1.0"))
	assert.Equal(t, of(`{"x":1,"y":"z"}`), of(`{"y":"\u007a","x":1e0}`))
	assert.NotEqual(t, of("1"), of("2"))
	assert.NotEqual(t, strings.TrimPrefix(of("1"), "number"), strings.TrimPrefix(of(`"1"`), "string(1)"))
	assert.Equal(t, of(`"room:7"`), r.Text("room:7"))

	other := diff.NewRedactor(nil)
	assert.Equal(t, other.Text("x"), other.Text("x"))
	assert.NotEqual(t, r.Text("x"), other.Text("x"), "tokens of another key")
	assert.NotEqual(t, other.Text("x"), diff.NewRedactor(nil).Text("x"), "tokens of another random key")
	assert.Equal(t, r.Text("x"), diff.NewRedactor([]byte("k")).Text("x"))
}

func TestShow(t *testing.T) {
	c := compile(t, diff.Rules{Show: []string{"a", "."}})
	s, long := rmw.String, strings.Repeat("é", 64)
	for want, pair := range map[string][2]rmw.Value{
		`a: "two\nlines\u202e\x1b[1m", 12.50`:                  {s(`{"a":"two\nlines\u202e\u001b[1m"}`), s(`{"a":12.50}`)},
		`a: "` + long + `"…, ` + strings.Repeat("1", 64) + "…": {s(`{"a":"` + long + `é"}`), s(`{"a":` + strings.Repeat("1", 65) + `}`)},
		`: "41", "\xff42"`:       {s("41"), s("\xff42")},
		`: array(1), "7"`:        {s("[1]"), s("7")},
		`a: object(1), absent`:   {s(`{"a":{"b":"secret"}}`), s(`{}`)},
		`a.b: string(6), absent`: {s(`{"a":{"b":"secret"}}`), s(`{"a":{}}`)}, // it has rules of its own
		`a: "41", "42"`:          {hash("a", "41"), hash("a", "42")},
	} {
		assert.Equal(t, want, found(c.Compare(pair[0], pair[1])))
	}
}

func TestPaths(t *testing.T) {
	r := diff.NewRedactor([]byte("k"))
	c := compile(t, diff.Rules{Keys: []string{"unread.*"}, Sets: []string{"set"}})
	path := func(a, b string) string { return r.Path(c.Compare(rmw.String(a), rmw.String(b)).Differences[0]) }
	for want, pair := range map[string][2]string{
		"members[1].name": {`{"members":[{},{"name":"x"}]}`, `{"members":[{},{}]}`},
		"set[].name":      {`{"set":[{"name":"x"}]}`, `{"set":[{}]}`},
		"members[]":       {`{"members":[1]}`, `{"members":[]}`},
		"":                {`1`, `2`},
		"grid[0][2]":      {`{"grid":[[1,2,3]]}`, `{"grid":[[1,2,4]]}`},
		"unread":          {`{"unread":{"ann":1}}`, `{}`},
	} {
		assert.Equal(t, want, path(pair[0], pair[1]))
	}
	assert.Regexp(t, `^unread\.\{#[0-9a-f]{8}\}\.n$`, path(`{"unread":{"eve":{"n":1}}}`, `{"unread":{"eve":{}}}`))
	assert.NotEqual(t, path(`{"a@b":1}`, `{}`), path(`{"b@a":1}`, `{}`))
	assert.Equal(t, "here", r.Path(diff.Difference{Template: "here"}))
}

// A printed Result shows neither content nor the names of a map.
func TestPrintingShowsNoContent(t *testing.T) {
	const private = "s3cretContent"
	c := compile(t, diff.Rules{Show: []string{"shown"}})
	a := `{"a":"` + private + `","b":["` + private + `"],"` + private + `@x":1,"shown":"` + private + `"}`
	document := c.Compare(rmw.String(a), rmw.String(`{}`))
	plain := c.Compare(rmw.String(private), hash(private+"@x", private))
	field := c.Compare(hash(private+"@x", private), hash(private+"@x", "1"))
	for name, v := range map[string]any{
		"Result": document, "*Result": &document, "Result of bytes": plain, "Result of hashes": field,
		"Difference": document.Differences[0], "Leaf": document.Differences[0].A, "*Leaf": &document.Differences[0].A,
		"unexported": struct{ r diff.Result }{document},
		"deep":       struct{ l []diff.Leaf }{[]diff.Leaf{plain.Differences[0].A, field.Differences[0].A}},
		"Comparer":   c,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%p", "%c"} {
			out := fmt.Sprintf(verb, v)
			assert.NotContains(t, out, private, "%s of %s", verb, name)
			assert.NotContains(t, out, fmt.Sprintf("%x", private), "%s of %s", verb, name)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		assert.NotContains(t, log.String(), private, name)
		if out, err := json.Marshal(v); err == nil {
			assert.NotContains(t, string(out), private, name)
		}
	}
	assert.Equal(t, "string(13)", document.Differences[0].A.String())
	assert.Equal(t, "absent", diff.Leaf{}.String())
}
