package scriptcheck

import (
	"maps"
	"slices"
	"strconv"
)

// maxListed is how many elements of a list are kept apart.
const maxListed = 256

// table is a table of the script. What was put into it may still be in there, so it only
// ever grows.
type table struct {
	fields map[string]value // by an index that is known
	length int              // the fields 1 to length were put there in this order
	rest   value            // what was appended after them
	loose  value            // what was put at an index that is not known
	names  value            // the indices
	all    value            // any of the values
}

func newTable() *table { return &table{fields: map[string]value{}} }

// put is t[index] = v.
func (t *table) put(index, v value) {
	t.names = collect(t.names, index)
	t.all = collect(t.all, v)
	if name, ok := index.text(); ok {
		t.fields[name] = collect(t.fields[name], v)
		if t.length < maxListed && name == strconv.Itoa(t.length+1) {
			t.length++
		}
		return
	}
	t.loose = collect(t.loose, v)
}

// add is t[#t+1] = v, which may or may not happen, or happen often.
func (t *table) add(v value) {
	t.names = collect(t.names, value{origin: computed})
	t.all = collect(t.all, v)
	t.rest = collect(t.rest, v)
}

// push is the same where it happens once.
func (t *table) push(v value) {
	if t.rest.origin != nothing || t.loose.origin != nothing || t.length == maxListed {
		t.add(v)
		return
	}
	t.put(textOf(strconv.Itoa(t.length+1)), v)
}

// get is t[index].
func (t *table) get(index value) value {
	name, ok := index.text()
	if !ok {
		return t.all
	}
	v, found := t.fields[name]
	if n, err := strconv.Atoi(name); !found && err == nil && n > t.length {
		v = t.rest
	}
	return collect(v, t.loose)
}

// unpacked is unpack(t).
func (t *table) unpacked() values {
	var out values
	for i := 1; i <= t.length; i++ {
		out.list = append(out.list, collect(t.fields[strconv.Itoa(i)], t.loose))
	}
	out.rest = collect(t.rest, t.loose)
	out.open = out.rest.origin != nothing
	return out
}

// maxMerged is how many fields are kept apart where it is not known which table it is.
const maxMerged = 64

// merge puts in all that the other table has.
func (t *table) merge(other *table, depth int) {
	for _, name := range slices.Sorted(maps.Keys(other.fields)) {
		if old, known := t.fields[name]; known || len(t.fields) < maxMerged {
			t.fields[name] = collectTo(old, other.fields[name], depth)
		} else {
			t.loose = collectTo(t.loose, other.fields[name], depth)
		}
	}
	t.length = min(max(t.length, other.length), maxMerged)
	t.rest = collectTo(t.rest, other.rest, depth)
	t.loose = collectTo(t.loose, other.loose, depth)
	t.names = collectTo(t.names, other.names, depth)
	t.all = collectTo(t.all, other.all, depth)
}
