package diff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// A document of the tests is nil, a bool, a num, a string, a *list or a map[string]any.

// num is one of the numbers below, which are all different.
type num int

type list struct{ items []any }

// spellings has, for each number, ways to write it.
func (n num) spellings() []string {
	return [][]string{
		{"0", "-0", "0.000", "0e99"},
		{"1", "1.0", "10e-1", "0.1E+1"},
		{"-1", "-1.00", "-1e0"},
		{"9007199254740992", "9007199254740992.0", "9007199254740.992e3"},
		{"9007199254740993", "9007199254740993.0", "90071992547409930E-1"},
		{"1e400", "10E399", "0.01e402"},
		{"123456789012345678901234567890", "12345678901234567890123456789e1"},
		{"123456789012345678901234567891"},
	}[n]
}

const numbers = 8

// The strings that documents are made of: none is part of what a report itself says.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "0", "X", "ÄÖÜ", "QUOTE\"BACK\\SLASH/", "LINE\nTAB\tBELL\a", "SMILE😀SMILE", "WVUT\u2028"}),
	rapid.StringMatching(`[G-Z]{4,20}`),
)

// names are few, so that documents have much in common; "set" is an array whose order
// does not count.
var names = rapid.SampledFrom([]string{"a", "b", "id", "long-Name_2", "set", "set"})

// documents returns a generator of objects and arrays.
func documents(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.Bool().Draw(t, "object") {
			return aMap(t, depth)
		}
		return aList(t, depth)
	})
}

func anything(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return num(rapid.IntRange(0, numbers-1).Draw(t, "number"))
	case 4, 5:
		return texts.Draw(t, "text")
	case 6:
		return aList(t, depth-1)
	default:
		return aMap(t, depth-1)
	}
}

func aList(t *rapid.T, depth int) *list {
	l := &list{}
	for range rapid.IntRange(0, 4).Draw(t, "length") {
		l.items = append(l.items, anything(t, depth))
	}
	return l
}

func aMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		name := names.Draw(t, "name")
		if name == "set" {
			m[name] = aList(t, max(0, depth-1))
		} else {
			m[name] = anything(t, depth)
		}
	}
	return m
}

// clone returns a deep copy.
func clone(v any) any {
	switch v := v.(type) {
	case *list:
		c := &list{}
		for _, item := range v.items {
			c.items = append(c.items, clone(item))
		}
		return c
	case map[string]any:
		c := map[string]any{}
		for name, value := range v {
			c[name] = clone(value)
		}
		return c
	}
	return v
}

// encoder writes a document in one of its many forms.
type encoder struct {
	*rand.Rand
	ordered bool // keep the order of sets, too
	b       strings.Builder
}

// encode returns the form of that seed.
func encode(v any, seed uint64, ordered bool) string {
	e := encoder{Rand: rand.New(rand.NewPCG(seed, 0)), ordered: ordered}
	e.value(v, false)
	return e.b.String()
}

func pick[T any](e *encoder, of ...T) T { return of[e.IntN(len(of))] }

func (e *encoder) space() { e.b.WriteString(pick(e, "", "", "", " ", "\t", "\r\n ")) }

// value writes v; of a set in any order.
func (e *encoder) value(v any, isSet bool) {
	e.space()
	defer e.space()
	switch v := v.(type) {
	case num:
		e.b.WriteString(pick(e, v.spellings()...))
	case string:
		e.text(v)
	case *list:
		items := slices.Clone(v.items)
		if isSet && !e.ordered {
			e.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		}
		e.inside("[", "]", len(items), func(i int) { e.value(items[i], false) })
	case map[string]any:
		fields := slices.Sorted(maps.Keys(v))
		e.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		e.inside("{", "}", len(fields), func(i int) {
			e.space()
			e.text(fields[i])
			e.space()
			e.b.WriteString(":")
			e.value(v[fields[i]], fields[i] == "set")
		})
	default:
		fmt.Fprint(&e.b, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
}

func (e *encoder) inside(open, end string, n int, item func(int)) {
	e.b.WriteString(open)
	e.space()
	for i := range n {
		if i > 0 {
			e.b.WriteString(",")
		}
		item(i)
	}
	e.b.WriteString(end)
}

func (e *encoder) text(s string) {
	if pick(e, true, false) {
		encoded, _ := json.Marshal(s)
		e.b.Write(encoded)
		return
	}
	e.b.WriteString(`"`)
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&e.b, pick(e, `\u%04x`, `\u%04X`), unit)
	}
	e.b.WriteString(`"`)
}

// mutation is one change that can be made to a document.
type mutation struct {
	template string
	// set is the template of the elements of the outermost set that it is in.
	set  string
	make func()
}

// mutations returns all single changes, with what a Comparer should call their place.
func mutations(v any, template, set string) []mutation {
	var all []mutation
	add := func(template, set string, change func()) { all = append(all, mutation{template, set, change}) }
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(template+"."+name, ".")
			within := set
			if list, ok := v[name].(*list); ok && name == "set" {
				if within == "" {
					within = at + "[]"
				}
				all = append(all, mutationsOfList(list, at, within)...)
			} else {
				all = append(all, mutations(v[name], at, set)...)
			}
			add(at, set, func() { v[name] = other(v[name]) })
			add(at, set, func() { delete(v, name) })
		}
		add(strings.TrimPrefix(template+".new", "."), set, func() { v["new"] = nil })
	case *list:
		all = append(all, mutationsOfList(v, template, set)...)
	}
	return all
}

func mutationsOfList(l *list, template, set string) []mutation {
	at := template + "[]"
	var all []mutation
	for i := range l.items {
		all = append(all, mutations(l.items[i], at, set)...)
		all = append(all,
			mutation{at, set, func() { l.items[i] = other(l.items[i]) }},
			mutation{at, set, func() { l.items = slices.Delete(l.items, i, i+1) }},
			mutation{at, set, func() { l.items = slices.Insert(l.items, i, l.items[i]) }})
	}
	return append(all, mutation{at, set, func() { l.items = append(l.items, nil) }})
}

// other returns something else.
func other(v any) any {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return num(0)
	case num:
		return (v + 1) % numbers
	case string:
		return v + "X"
	}
	return nil
}
