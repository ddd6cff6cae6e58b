package domains_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The documents that other services may have stored: with unknown members, and white space and escapes wherever the
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

// values are JSON values that a scanner may misread, and numbers that a float64 would not keep.
var values = []string{
	"-0", "-1.50", "9007199254740993", "123456789012345678901234567890", "1e400", "2E+2", "true", "null", `""`, `"}"`, `"\""`,
	`"\\"`, `"\\\""`, `"{[,:"`, `"\u0078\ud83d\ude42"`, "\"\u2028é🙂\"", `[]`, `[ 1 ,"]" , {"a" : [ "}" ]} ]`, `{}`,
	"{ \"x\":{\"y\":\"}\"}\r\n,\t\"x\" : null , \"id\":7 }",
}

func aText(t *rapid.T) string {
	awkward := rapid.SampledFrom([]string{"", "}", `"`, `\`, `\"`, ",", ":", "{[", "<&>", "\u2028", "🙂", "é", "\x00", "Id", "kasse"})
	return rapid.OneOf(awkward, rapid.StringN(0, 6, 12)).Draw(t, "text")
}

// strangers are members whose names no struct of the tests has. Names may come twice.
func strangers(t *rapid.T, n int) []string {
	members := make([]string, n)
	for i := range members {
		value := rapid.SampledFrom(values).Draw(t, "value")
		members[i] = aString(t, "x"+aText(t)) + aSpace(t) + ":" + aSpace(t) + value
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
		return anObject(t, append(known, strangers(t, rapid.IntRange(0, 3).Draw(t, "strangers"))...))
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
