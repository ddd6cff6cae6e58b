package diff_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
)

// A document of the tests is nil, a bool, a num, a string, a []any or a map[string]any. It never changes.

// num is the index of a number.
type num int

// numbers has, for each number, ways to write it.
var numbers = [][]string{
	{"0", "-0", "0.000", "0e99"},
	{"1", "1.0", "10e-1", "0.1E+1"},
	{"-1", "-1.00", "-1e0"},
	{"9007199254740992", "9007199254740992.0", "9007199254740.992e3"},
	{"9007199254740993", "9007199254740993.0", "90071992547409930E-1"},
	{"1e400", "10E399", "0.01e402"},
	{"123456789012345678901234567890", "12345678901234567890123456789e1"},
	{"123456789012345678901234567891"},
}

// names are few, so that documents have much in common; "set" is an array whose order
// does not count.
var names = rapid.SampledFrom([]string{"a", "b", "id", "long-Name_2", "set", "set"})

var scalars = rapid.OneOf(
	rapid.Just[any](nil),
	rapid.Bool().AsAny(),
	rapid.Map(rapid.IntRange(0, len(numbers)-1), func(i int) any { return num(i) }),
	rapid.SampledFrom([]any{"", "0", "X", "ÄÖÜ", "QUOTE\"BACK\\SLASH/", "LINE\nTAB\tBELL\a", "SMILE😀SMILE", "WVUT\u2028"}),
	rapid.StringMatching(`[G-Z]{4,20}`).AsAny(),
)

// depth is the number of objects and arrays inside each other.
const depth = 4

var documents = rapid.OneOf(objects(depth), lists(depth))

func anything(depth int) *rapid.Generator[any] {
	if depth <= 0 {
		return scalars
	}
	return rapid.OneOf(scalars, lists(depth), objects(depth))
}

func lists(depth int) *rapid.Generator[any] { return rapid.SliceOfN(anything(depth-1), 0, 4).AsAny() }

func objects(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		fields := map[string]any{}
		for _, name := range rapid.SliceOfN(names, 0, 4).Draw(t, "names") {
			values := anything(depth - 1)
			if name == "set" {
				values = lists(depth - 1)
			}
			fields[name] = values.Draw(t, name)
		}
		return fields
	})
}

// encoder writes a document in one of its many forms.
type encoder struct {
	*rand.Rand
	ordered bool // keep the order of sets, too
}

// encode returns the form of that seed.
func encode(v any, seed uint64, ordered bool) rmw.Value {
	return rmw.String(encoder{rand.New(rand.NewPCG(seed, 0)), ordered}.value(v, false))
}

func pick[T any](e encoder, of ...T) T { return of[e.IntN(len(of))] }

func (e encoder) space() string { return pick(e, "", "", "", " ", "\t", "\r\n ") }

func (e encoder) shuffle(s []string) { e.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] }) }

// value writes v; of a set in any order.
func (e encoder) value(v any, isSet bool) (text string) {
	switch v := v.(type) {
	case num:
		text = pick(e, numbers[v]...)
	case string:
		text = e.text(v)
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, e.value(item, false))
		}
		if isSet && !e.ordered {
			e.shuffle(items)
		}
		text = "[" + e.space() + strings.Join(items, ",") + "]"
	case map[string]any:
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, e.space()+e.text(name)+e.space()+":"+e.value(v[name], name == "set"))
		}
		e.shuffle(fields)
		text = "{" + e.space() + strings.Join(fields, ",") + "}"
	default:
		text = map[any]string{nil: "null", true: "true", false: "false"}[v]
	}
	return e.space() + text + e.space()
}

func (e encoder) text(s string) string {
	if pick(e, true, false) {
		encoded, _ := json.Marshal(s)
		return string(encoded)
	}
	var units strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&units, pick(e, `\u%04x`, `\u%04X`), unit)
	}
	return `"` + units.String() + `"`
}

// mutation is a document with one change, and the path that a Comparer reports for it.
type mutation struct {
	after    any
	template string
	set      string // the template of the elements of the outermost set that it is in
}

// mutations returns all single changes of the document at that place.
func mutations(v any, template, set string) (all []mutation) {
	add := func(at string, after any) { all = append(all, mutation{after, at, set}) }
	part := func(at, set string, part any, put func(any) any) { // all changes of a part of v
		for _, m := range mutations(part, at, set) {
			all = append(all, mutation{put(m.after), m.template, m.set})
		}
		add(at, put(other(part)))
	}
	switch v := v.(type) {
	case map[string]any:
		with := func(name string, value any) any {
			changed := maps.Clone(v)
			changed[name] = value
			return changed
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at, within := strings.TrimPrefix(template+"."+name, "."), set
			if name == "set" {
				within = cmp.Or(set, at+"[]")
			}
			part(at, within, v[name], func(value any) any { return with(name, value) })
			without := maps.Clone(v)
			delete(without, name)
			add(at, without)
		}
		add(strings.TrimPrefix(template+".new", "."), with("new", nil))
	case []any:
		at := template + "[]"
		for i, item := range v {
			part(at, set, item, func(value any) any { return slices.Replace(slices.Clone(v), i, i+1, value) })
			add(at, slices.Delete(slices.Clone(v), i, i+1))
			add(at, slices.Insert(slices.Clone(v), i, item))
		}
		add(at, append(slices.Clone(v), nil))
	}
	return all
}

// other returns something else.
func other(v any) any {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return num(0)
	case num:
		return (v + 1) % num(len(numbers))
	case string:
		return v + "X"
	}
	return nil
}
