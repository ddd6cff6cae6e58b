package domains_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The documents that other services may have stored: any JSON, with white space and escapes wherever the
// grammar permits them.

// aString returns a text and one of the ways to write it in JSON.
func aString(t *rapid.T, text string) string {
	switch rapid.IntRange(0, 2).Draw(t, "spelling") {
	case 0:
		b, err := json.Marshal(text)
		require.NoError(t, err)
		return string(b)
	case 1:
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(text)) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return `"` + b.String() + `"`
	default:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(text))
		return strings.TrimSuffix(b.String(), "\n")
	}
}

func aSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\t", "\r\n", "  \n"}).Draw(t, "space")
}

// aNumber includes those that a float64 would not keep.
func aNumber(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"0", "-0", "-1.50", "9007199254740993", "123456789012345678901234567890", "1e400", "0.1000000000000000055", "2E+2",
	}).Draw(t, "number")
}

// aValue is any JSON value.
func aValue(t *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return aNumber(t)
	case 2:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 3, 4:
		return aString(t, aText(t))
	case 5:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = aSpace(t) + aValue(t, depth-1) + aSpace(t)
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		return anObject(t, strangers(t, depth-1, rapid.IntRange(0, 3).Draw(t, "members")))
	}
}

func aText(t *rapid.T) string {
	awkward := rapid.SampledFrom([]string{"", "}", `"`, `\`, `\"`, ",", ":", "{[", "<&>", "\u2028", "🙂", "é", "\x00", "Id", "kasse"})
	return rapid.OneOf(awkward, rapid.StringN(0, 6, 12)).Draw(t, "text")
}

// strangers are members whose names no struct of the tests has. Names may come twice.
func strangers(t *rapid.T, depth, n int) []string {
	members := make([]string, n)
	for i := range members {
		members[i] = aString(t, "x"+aText(t)) + aSpace(t) + ":" + aSpace(t) + aValue(t, depth)
	}
	return members
}

// anObject holds the members in some order.
func anObject(t *rapid.T, members []string) string {
	var b strings.Builder
	b.WriteString(aSpace(t) + "{")
	for i, m := range rapid.Permutation(members).Draw(t, "order") {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(aSpace(t) + m + aSpace(t))
	}
	return b.String() + aSpace(t) + "}" + aSpace(t)
}

// aTicketDocument has every attribute of a Ticket, none of them empty, and strangers at every level.
func aTicketDocument(t *rapid.T) string {
	with := func(known ...string) string {
		return anObject(t, append(known, strangers(t, 2, rapid.IntRange(0, 3).Draw(t, "strangers"))...))
	}
	return with(
		`"format":1`, `"version":18446744073709551615`, `"applied":[{"id":"a","number":7}]`,
		`"id": "7"`, `"\u0074itle":`+aString(t, "t"+rapid.StringN(0, 6, 12).Draw(t, "title")),
		`"done":true`, `"loud":false`, `"size":3`, `"big":9007199254740993`, `"rate":0.5`, `"due":1`, `"tags":["a"]`,
		`"note":`+with(`"text":"n"`),
		`"parts":{"p":`+with(`"name":"p"`, `"count":1`)+`,"q":`+with(`"name":""`)+`}`,
		`"votes":{"ann":-1}`,
	)
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

// The generator covers every shape of document; otherwise the properties that use it prove little.
func TestTicketGeneratorCoverage(t *testing.T) {
	var spaced, twice, nested, escaped int
	for seed := range 200 {
		doc := rapid.Custom(aTicketDocument).Example(seed)
		require.True(t, json.Valid([]byte(doc)), doc)
		if strings.Contains(doc, "\r\n") {
			spaced++
		}
		if strings.Count(doc, `"x"`) > 1 {
			twice++
		}
		if strings.Contains(doc, `":[{"x`) || strings.Contains(doc, `":{"x`) {
			nested++
		}
		if strings.Contains(doc, `"\u0078`) {
			escaped++
		}
	}
	for what, n := range map[string]int{"white space": spaced, "a name twice": twice, "nested": nested, "an escaped name": escaped} {
		require.Positive(t, n, what)
	}
}
