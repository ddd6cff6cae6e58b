package scriptcheck

import (
	"maps"
	"slices"
	"strconv"
)

// maxListed limits the list elements that are tracked one by one.
const maxListed = 256

// table is a table of the script. It keeps every value ever stored, since a removal may not be executed.
type table struct {
	fields map[string]value // by known index
	length int              // the fields 1 to length were stored in this order
	rest   value            // values appended after them
	loose  value            // values stored at an unknown index
	moved  value            // list elements at an unknown index
	names  value            // the indices
	all    value            // the join of all values
}

func newTable() *table { return &table{fields: map[string]value{}} }

// put evaluates t[index] = v.
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

// add evaluates t[#t+1] = v that may be executed any number of times.
func (t *table) add(v value) {
	t.names = collect(t.names, value{origin: computed})
	t.all = collect(t.all, v)
	t.rest = collect(t.rest, v)
}

// push evaluates t[#t+1] = v that is executed exactly once.
func (t *table) push(v value) {
	if t.after().origin != nothing || t.length == maxListed {
		t.add(v)
		return
	}
	t.put(textOf(strconv.Itoa(t.length+1)), v)
}

// get evaluates t[index].
func (t *table) get(index value) value {
	name, ok := index.text()
	if !ok {
		return t.all
	}
	v, found := t.fields[name]
	if n, err := strconv.Atoi(name); err == nil {
		if !found && n > t.length {
			v = t.rest
		}
		v = collect(v, t.moved)
	}
	return collect(v, t.loose)
}

// after returns the possible values behind the fields 1 to length.
func (t *table) after() value { return collect(collect(t.rest, t.moved), t.loose) }

// unpackedFrom evaluates unpack(t, from, to). from and to may be nil.
func (t *table) unpackedFrom(from, to value) values {
	first := 1
	if from.origin != nothing {
		var ok bool
		if first, ok = position(from); !ok {
			// Any element of the list may come first.
			v := t.elements()
			return values{open: v.origin != nothing, rest: v}
		}
	}
	var out values
	if last, ok := position(to); ok && last-first < maxListed {
		for i := first; i <= last; i++ {
			out.list = append(out.list, t.get(textOf(strconv.Itoa(i))))
		}
		return out
	}
	for i := first; i <= t.length; i++ {
		out.list = append(out.list, t.get(textOf(strconv.Itoa(i))))
	}
	out.rest = t.after()
	out.open = out.rest.origin != nothing
	return out
}

// position returns the list index that a literal denotes. Computed indices are not followed.
func position(v value) (int, bool) {
	text, ok := v.text()
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(text)
	return i, err == nil && i > 0 && i <= maxPosition
}

// maxPosition exceeds any index that a script is likely to contain.
const maxPosition = 1 << 20

// elements returns the join of all list elements.
func (t *table) elements() value {
	out := t.after()
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		if _, err := strconv.Atoi(name); err == nil {
			out = collect(out, t.fields[name])
		}
	}
	return out
}

// loosen records that list elements move to unknown indices.
func (t *table) loosen() {
	t.names = collect(t.names, value{origin: computed})
	t.moved = t.elements()
	t.rest, t.length = value{}, 0
	maps.DeleteFunc(t.fields, func(name string, _ value) bool {
		_, err := strconv.Atoi(name)
		return err == nil
	})
}

// inOrder reports whether all values at known indices are among the fields 1 to length.
func (t *table) inOrder() bool {
	for name := range t.fields {
		if i, err := strconv.Atoi(name); err == nil && (i < 1 || i > t.length) {
			return false
		}
	}
	return true
}

// insert evaluates table.insert(t, at, v). certain means that it is executed exactly once.
func (t *table) insert(at, v value, certain bool) {
	i, ok := position(at)
	switch {
	case !ok || !certain || i > t.length+1 || t.length >= maxListed || !t.inOrder():
		t.loosen()
		t.moved = collect(t.moved, v)
		t.all = collect(t.all, v)
		return
	case i == t.length+1:
		t.push(v)
		return
	}
	for last := t.length; last >= i; last-- {
		t.fields[strconv.Itoa(last+1)] = t.fields[strconv.Itoa(last)]
	}
	t.length++
	t.fields[strconv.Itoa(i)] = v
	t.names = collect(t.names, textOf(strconv.Itoa(t.length)))
	t.all = collect(t.all, v)
}

// remove evaluates table.remove(t, at) and returns the removed value.
func (t *table) remove(at value, certain bool) value {
	v := t.get(at)
	i, ok := position(at)
	switch {
	case !ok || !certain || !t.inOrder():
		t.loosen()
	case i <= t.length:
		for ; i < t.length; i++ {
			t.fields[strconv.Itoa(i)] = t.fields[strconv.Itoa(i+1)]
		}
		delete(t.fields, strconv.Itoa(t.length))
		t.length--
	}
	return v
}

// pop evaluates table.remove(t). The other elements keep their index.
func (t *table) pop(certain bool) value {
	if !certain || t.length == 0 || t.after().origin != nothing || !t.inOrder() {
		return t.elements()
	}
	return t.remove(textOf(strconv.Itoa(t.length)), true)
}

// maxMerged limits the fields that are tracked one by one in a join of tables.
const maxMerged = 64

// merge adds all values of the other table.
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
	t.moved = collectTo(t.moved, other.moved, depth)
	t.names = collectTo(t.names, other.names, depth)
	t.all = collectTo(t.all, other.all, depth)
}
