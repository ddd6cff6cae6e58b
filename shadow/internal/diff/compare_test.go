package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

func compile(t testing.TB, r diff.Rules) *diff.Comparer {
	t.Helper()
	c, err := diff.Compile(r)
	require.NoError(t, err)
	return c
}

// found renders differences as "template: a, b; …".
func found(r diff.Result) string {
	redactor := diff.NewRedactor(nil)
	var lines []string
	for _, d := range r.Differences {
		a, _, _ := strings.Cut(redactor.Token(d.A), "#")
		b, _, _ := strings.Cut(redactor.Token(d.B), "#")
		lines = append(lines, d.Template+": "+a+", "+b)
	}
	return strings.Join(lines, "; ")
}

// agree compares in both directions and by digest, and returns the result.
func agree(t require.TestingT, c *diff.Comparer, a, b rmw.Value) diff.Result {
	r := c.Compare(a, b)
	back := c.Compare(b, a)
	require.Equal(t, r.Same, back.Same, "swapped")
	require.Equal(t, r.EncodingOnly, back.EncodingOnly, "swapped")
	require.Equal(t, len(r.Differences)+r.More, len(back.Differences)+back.More, "swapped")
	require.Equal(t, r.Same, c.Digest(a) == c.Digest(b), "the digests do not agree with Compare")
	require.Equal(t, r.Same, len(r.Differences) == 0)
	return r
}

func hash(pairs ...string) rmw.Value {
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	return rmw.Hash(fields)
}

func TestCompare(t *testing.T) {
	c := compile(t, diff.Rules{
		Ignore: []string{"updatedAt", "members[].seen", "meta.*", "noise[]", `"odd.name"`, "x.*.y"},
		Sets:   []string{"tags", "people", "grid[]"},
		Keys:   []string{"unread.*"},
	})
	s := rmw.String
	for name, tt := range map[string]struct {
		a, b rmw.Value
		want string // empty: only the bytes differ
	}{
		"half a pair, same":   {s(`["\ud83d\ud83D\uDE00\ude00x"]`), s(`["\uD83d😀\uDE00x"]`), ""},
		"numbers":             {s(`[1,1.0,-0,0.5e1,1e400]`), s(`[1.000,10e-1,0,5,10E+399]`), ""},
		"escapes":             {s(`["é😀/\n\b\f\r\t"]`), s(`["\u00e9\ud83d\ude00\/\u000a\u0008\u000c\u000d\u0009"]`), ""},
		"ignored in elements": {s(`{"members":[{"seen":1},{}]}`), s(`{"members":[{},{"seen":2}]}`), ""},
		"ignored by wildcard": {s(`{"meta":{"x":1}}`), s(`{"meta":{"y":[1]}}`), ""},
		"ignored elements":    {s(`{"noise":[1,2]}`), s(`{"noise":[]}`), ""},
		"ignored, quoted":     {s(`{"odd.name":1}`), s(`{}`), ""},
		"ignored in hash":     {hash("f", "1", "updatedAt", "2"), hash("f", "1"), ""},
		"set in hash":         {hash("tags", `["a","b"]`), hash("tags", `["b","a"]`), ""},

		"absent":              {rmw.Value{}, s(""), `: absent, ""`},
		"absent, document":    {rmw.Value{}, s("{}"), ": absent, object(0)"},
		"string, hash":        {s(`{"a":{}}`), hash("a", "{}"), ": object(1), hash(1)"},
		"object, array":       {s("{}"), s("[]"), ": object(0), array(0)"},
		"counters":            {s("7"), s("7.0"), ": bytes(1), bytes(3)"},
		"zero":                {s("0"), s(""), `: "0", ""`},
		"snowflakes":          {s(`{"id":9007199254740993}`), s(`{"id":9007199254740992}`), "id: number, number"},
		"missing, null":       {s(`{"a":null}`), s(`{}`), "a: null, absent"},
		"missing, 0":          {s(`{"a":-0.0}`), s(`{}`), "a: 0, absent"},
		"0, text":             {s(`{"a":0}`), s(`{"a":""}`), `a: 0, ""`},
		"number, text":        {s(`{"a":12}`), s(`{"a":"12"}`), `a: number, string(2)`},
		"duplicate names":     {s(`{"a":1,"a":2}`), s(`{"a":2}`), ": bytes(13), object(1)"},
		"duplicate by escape": {s(`{"a":1,"\u0061":1}`), s(`{"a":1}`), ": bytes(18), object(1)"},
		"half a pair":         {s(`["\ud800"]`), s(`["\ud801"]`), "[]: string(3), string(3)"},
		"half a pair, then":   {s(`["\ud800\u0041"]`), s(`["\ufffdA"]`), "[]: string(4), string(4)"},
		"not UTF-8":           {s("[\"\xff\"]"), s("[\"\xfe\"]"), ": bytes(5), bytes(5)"},
		"trailing":            {s("[] []"), s("[][]"), ": bytes(5), bytes(4)"},
		"one for two":         {s(`["a","b"]`), s(`["asb"]`), "[]: array(2), array(1); []: string(1), string(3)"},
		"renamed":             {s(`{"a":1}`), s(`{"b":1}`), "a: number, absent; b: absent, number"},
		"order of array":      {s(`[1,2]`), s(`[2,1]`), "[]: number, number; []: number, number"},
		"one more, and other": {s(`{"m":[1,2,3,4]}`), s(`{"m":[5,3,4]}`), "m[]: array(4), array(3); m[]: number, number"},
		"set, more often":     {s(`{"tags":["a","a"]}`), s(`{"tags":["a"]}`), "tags[]: string(1), absent"},
		"set, other":          {s(`{"tags":["a","b"]}`), s(`{"tags":["c","a"]}`), "tags[]: string(1), absent; tags[]: absent, string(1)"},
		"set of objects, one": {s(`{"people":[{"n":1},{"n":2}]}`), s(`{"people":[{"n":3},{"n":1}]}`), "people[].n: number, number"},
		"set of objects, all": {
			s(`{"people":[{"n":1,"r":0},{"n":2,"r":0}]}`), s(`{"people":[{"n":2},{"n":1}]}`),
			"people[].r: 0, absent; people[].r: 0, absent",
		},
		"set of objects, most alike": {
			s(`{"people":[{"b":1,"c":2},{"a":1,"c":2,"d":3,"e":4}]}`), s(`{"people":[{"b":1,"c":2,"d":3,"e":4}]}`),
			"people[].a: number, absent; people[].b: absent, number; people[]: object(2), absent",
		},
		"set of others": {
			s(`{"people":[{"n":1},{"n":2}]}`), s(`{"people":[{"n":3},{"n":4},{"n":2}]}`),
			"people[]: object(1), absent; people[]: absent, object(1); people[]: absent, object(1)",
		},
		"nested set": {
			s(`{"grid":[[1,2],[3]]}`), s(`{"grid":[[2,1],[4]]}`), "grid[][]: number, absent; grid[][]: absent, number",
		},
		"hash field":           {hash("a", "1", "b", "2"), hash("a", "1", "b", "3"), "b: bytes(1), bytes(1)"},
		"hash field gone":      {hash("a", "1", "b", "0"), hash("a", "1"), `b: "0", absent`},
		"hash field, in it":    {hash("a", `{"x":[1]}`), hash("a", `{"x":[2]}`), "a.x[]: number, number"},
		"hash field, document": {hash("a", `{}`), hash("a", ``), `a: object(0), ""`},
		"declared key":         {s(`{"unread":{"ann":1}}`), s(`{"unread":{"ann":0}}`), "unread.*: number, 0"},
		"key like data":        {s(`{"of":{"+44 20 79":{"n":1}}}`), s(`{"of":{"+44 20 79":{"n":3}}}`), "of.*.n: number, number"},
		"not ignored":          {s(`{"x":{"b":{"y":1,"z":1}}}`), s(`{"x":{"b":{"y":2,"z":2}}}`), "x.b.z: number, number"},
	} {
		t.Run(name, func(t *testing.T) {
			r := agree(t, c, tt.a, tt.b)
			assert.Equal(t, tt.want, found(r))
			assert.Equal(t, tt.want == "", r.EncodingOnly)
		})
	}
}

func TestEqualBytesAreNotParsed(t *testing.T) {
	c := compile(t, diff.Rules{})
	document := rmw.String("[" + strings.Repeat("0,", 1<<16) + "0]")
	allocs := testing.AllocsPerRun(10, func() { assert.True(t, c.Compare(document, document).Same) })
	assert.Zero(t, allocs)
	assert.Equal(t, diff.Result{Same: true}, c.Compare(rmw.Value{}, rmw.Value{}))
}

func TestVerdictIsNotCapped(t *testing.T) {
	const n = 100
	c := compile(t, diff.Rules{})
	r := agree(t, c, rmw.String("["+strings.Repeat("1,", n)+"1]"), rmw.String("["+strings.Repeat("2,", n)+"2]"))
	assert.Len(t, r.Differences, 32)
	assert.Equal(t, n+1-32, r.More)
}

func TestDeepDocuments(t *testing.T) {
	c := compile(t, diff.Rules{Sets: []string{".", "[]", "[][]"}})
	deep := func(open, inner, end string, levels int) rmw.Value {
		return rmw.String(strings.Repeat(open, levels) + inner + strings.Repeat(end, levels))
	}
	for _, tt := range []struct {
		open, a, b, end string
		levels          int
		want            string
	}{
		{"[", "1", "1.0", "]", 10_000, ""},
		{"[", "1", "2", "]", 10_000, strings.Repeat("[]", 16) + "…: number, number"},
		{"[", "1", "1.0", "]", 10_001, ": bytes(20003), bytes(20005)"}, // too deep for a document
		{"[", "1", "2", "]", 1_000_000, ": bytes(2000001), bytes(2000001)"},
		{`{"a":`, "1", "2", "}", 9_999, strings.Repeat("a.", 16) + "…: number, number"},
	} {
		assert.Equal(t, tt.want, found(agree(t, c, deep(tt.open, tt.a, tt.end, tt.levels), deep(tt.open, tt.b, tt.end, tt.levels))))
	}
}

func TestManyNamesAreAMap(t *testing.T) {
	people := func(n int, value string) rmw.Value {
		fields := map[string]string{}
		for i := range n {
			fields["friend"+string(rune('a'+i/26))+string(rune('a'+i%26))] = value
		}
		return rmw.Hash(fields)
	}
	c := compile(t, diff.Rules{})
	for _, tt := range []struct {
		a, b rmw.Value
		want string
	}{
		{people(64, "x"), people(64, "y"), "friendaa"},
		{people(65, "x"), people(65, "y"), "*"},
		{people(64, "x"), people(65, "x"), "*"},
		{people(65, "x"), people(64, "x"), "*"},
	} {
		assert.Equal(t, tt.want, agree(t, c, tt.a, tt.b).Differences[0].Template)
	}
}

// A set whose elements all lost a field has one template, unless it has too many elements
// to pair.
func TestLargeSets(t *testing.T) {
	set := func(n int, more string) rmw.Value {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(`{"id":%d,"name":"n%[1]d"%s}`, i, more))
		}
		return rmw.String("[" + strings.Join(items, ",") + "]")
	}
	c := compile(t, diff.Rules{Sets: []string{"."}})
	for _, d := range agree(t, c, set(32, ""), set(32, `,"rating":0`)).Differences {
		assert.Equal(t, "[].rating", d.Template)
	}
	r := agree(t, c, set(33, ""), set(33, `,"rating":0`))
	assert.Equal(t, "[]", r.Differences[0].Template)
	assert.Equal(t, 2*33-32, r.More)
}
