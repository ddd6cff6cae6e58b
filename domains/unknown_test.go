package domains_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
)

// values are JSON values that a scanner may misread, and numbers that a float64 would not keep.
var values = []string{
	"-0", "-1.50", "9007199254740993", "123456789012345678901234567890", "1e400", "2E+2", "true", "null", `""`, `"}"`, `"\""`,
	`"\\"`, `"\\\""`, `"{[,:"`, `"\u0078\ud83d\ude42"`, "\"\u2028é🙂\"", `[]`, `[ 1 ,"]" , {"a" : [ "}" ]} ]`, `{}`,
	"{ \"x\":{\"y\":\"}\"}\r\n,\t\"x\" : null , \"id\":7 }",
}

// names are ends of names that a scanner may misread. Some are the same name in two spellings.
var names = []string{
	"", "}", `\u007d`, `\"`, `\\`, `\\\"`, ",", ":", "{[", "<&>", "\u2028", `\u2028`, "🙂", `\ud83d\ude42`, "é", `\u0000`, "Id", "kasse",
}

// strangers are members whose names no struct of the tests has: each value with each name, and white space wherever the
// grammar permits it.
func strangers() string {
	var b strings.Builder
	spaces := []string{"", " ", "\t", "\r\n", "  \n"}
	for i, value := range values {
		for j, name := range names {
			space := func(n int) string { return spaces[(i+j+n)%len(spaces)] }
			fmt.Fprintf(&b, `%s"x%d%s"%s:%s%s%s,`, space(0), i, name, space(1), space(2), value, space(3))
		}
	}
	return b.String()
}

// Every member of a document is still there after a change, at every level and with its digits, and no other member is added.
// Known fields are written as set.
func TestKnownFieldsReplaceUnknown(t *testing.T) {
	x := strangers()
	doc := []byte(" {" + x + `"format":1,"version":18446744073709551615,"applied":[{"id":"a","number":7}], "id" : "7" ,` +
		`"\u0074itle":"\u0074",` + x + `"done":true,"loud":false,"size":3,"big":9007199254740993,"rate":0.5,"due":1,"tags":["a"],` +
		`"note":{` + x + `"text":"n"},"parts":{"p":{"name":"p",` + x + `"count":1} , "q":{` + x + `"name":""}},` +
		x + `"votes":{"ann":-1}} `)
	var ticket Ticket
	require.NoError(t, json.Unmarshal(doc, &ticket))
	ticket.Title, ticket.Big, ticket.Note.Text = "new", 5, "new, too"
	part := ticket.Parts["p"]
	part.Count = 6
	ticket.Parts["p"] = part
	delete(ticket.Parts, "q")
	out, err := json.Marshal(ticket)
	require.NoError(t, err)

	want := reading(t, doc)
	want["title"], want["big"] = "new", json.Number("5")
	want["note"].(map[string]any)["text"] = "new, too"
	want["parts"].(map[string]any)["p"].(map[string]any)["count"] = json.Number("6")
	delete(want["parts"].(map[string]any), "q")
	require.Equal(t, want, reading(t, out))
}

// reading is a document as its reader sees it: numbers by their digits, and of two members with one name the
// last.
func reading(t require.TestingT, document []byte) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var m map[string]any
	require.NoError(t, dec.Decode(&m))
	return m
}

func TestUnknownField(t *testing.T) {
	var note Note
	require.NoError(t, json.Unmarshal([]byte(`{ "a" : 1 , "text":"t", "\u00e9": [ "}" ], "a": {"b":2} }`), &note))
	for name, want := range map[string]string{"a": `{"b":2}`, "é": `[ "}" ]`} {
		raw, ok := note.Unknown.Field(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, string(raw), "the last of several counts, as for every reader of JSON")
	}
	for _, name := range []string{"text", "b", ""} {
		_, ok := note.Unknown.Field(name)
		assert.False(t, ok, name)
	}
	require.NoError(t, json.Unmarshal([]byte(`{"text":"t"}`), &note))
	assert.Equal(t, domains.Unknown{}, note.Unknown, "those of the first document are gone")
	_, ok := note.Unknown.Field("a")
	assert.False(t, ok)
}

// The inside of an object goes behind nothing as well as behind something.
func TestUnknownInAnEmptyObject(t *testing.T) {
	type bare struct {
		A int `json:"a,omitempty"`
	}
	names := domains.NamesOf[bare]()
	for doc, want := range map[string]string{`{"b":1}`: `{"b":1}`, `{"b":1,"a":2}`: `{"a":2,"b":1}`, `{}`: `{}`, `null`: `{}`} {
		var b bare
		var unknown domains.Unknown
		require.NoError(t, names.Unmarshal([]byte(doc), &b, &unknown), doc)
		out, err := names.Marshal(b, unknown)
		require.NoError(t, err)
		assert.Equal(t, want, string(out), doc)
	}
}

// A name that encoding/json would take for a known one, and another reader would not, is refused; the error
// quotes nothing else of the document.
func TestNamesDifferingInCaseAreRefused(t *testing.T) {
	for _, name := range []string{"id", "title", "done", "loud", "size", "big", "rate", "due", "tags", "note", "parts", "votes",
		"format", "version", "applied"} {
		for _, other := range []string{
			strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], `\u00` + fmt.Sprintf("%x", name[0]-'a'+'A') + name[1:],
			strings.ReplaceAll(name, "s", "ſ"),
		} {
			if other == name {
				continue
			}
			var ticket Ticket
			err := json.Unmarshal([]byte(`{`+strangers()+`"`+other+`":null,"id":"SECRET","title":"SECRET","xs":"SECRET"}`), &ticket)
			require.EqualError(t, err, `a field differs from "`+name+`" in case only`, other)
		}
	}
}

// FuzzUnknown: of any document that is read at all, every stranger stays.
func FuzzUnknown(f *testing.F) {
	for _, doc := range []string{
		`{}`, `null`, `[]`, `{"id":"7","x":1}`, `{"x":{"y":[1,{"z":"}"}]},"x":2}`, `{"\u0069d":"7","\ud800":1}`,
		"{\"\xff\":1,\"x\":\"\xfe\"}",
		` { "note" : { "text" : "a" , "n" : 1e999 } , "parts" : {"p":{"q":null}} } `, `{"ID":1}`, `{"applied":[{"id":"a","x":1}]}`,
		`{"a\"b\\":"<\u2028>","":0}`,
	} {
		f.Add([]byte(doc))
	}
	all, err := json.Marshal(fullTicket())
	require.NoError(f, err)
	known := slices.Collect(maps.Keys(reading(f, all)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var ticket Ticket
		if err := json.Unmarshal(doc, &ticket); err != nil {
			return
		}
		out, err := json.Marshal(ticket)
		require.NoError(t, err)
		before, after := reading(t, doc), reading(t, out)
		for _, name := range known {
			delete(before, name)
			delete(after, name)
		}
		if before == nil { // the document is null
			before = map[string]any{}
		}
		require.Equal(t, before, after)
	})
}
