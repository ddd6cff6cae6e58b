package scriptcheck

import "slices"

// origin classifies the source of a value.
type origin uint8

const (
	nothing  origin = iota // nil, or not yet assigned
	declared               // an element of KEYS
	literal                // written in the script
	argument               // from ARGV
	reply                  // from a reply of Redis
	computed               // computed from other values
	unclear                // unknown
	allKeys                // KEYS
	tabular                // a table of the script
	callable               // a function of the script
	library                // a value of Lua's or Redis' library
)

// undeclared reports whether the value certainly does not come from KEYS.
func (o origin) undeclared() bool { return o >= literal && o <= computed }

// value describes the knowledge about a value of the script.
type value struct {
	origin   origin
	texts    []string // the possible texts of a literal; empty if there are too many
	table    *table
	function *function
	name     string // of a library value: "redis.call"
}

func textOf(s string) value { return value{origin: literal, texts: []string{s}} }

// text returns the value, if it has exactly one possible text.
func (v value) text() (string, bool) {
	if v.origin == literal && len(v.texts) == 1 {
		return v.texts[0], true
	}
	return "", false
}

// truthy reports whether the value is certainly neither nil nor false.
func (v value) truthy() bool {
	switch v.origin {
	case literal, allKeys, tabular, callable, library:
		return true
	}
	return false
}

// maxTexts limits the literals that are tracked per variable.
const maxTexts = 8

// join returns a value that may be either. Of two origins of a key, the worse one counts.
func join(a, b value) value { return joinTo(a, b, 0) }

// maxJoined limits the depth to which nested tables are joined, since tables may contain each other.
const maxJoined = 2

func joinTo(a, b value, depth int) value {
	if a.origin > b.origin {
		a, b = b, a
	}
	switch {
	case a.origin == nothing:
		return b
	case a.origin == b.origin:
		return joinSame(a, b, depth)
	case a.origin == declared && b.origin.undeclared():
		return value{origin: b.origin}
	case a.origin.undeclared() && (b.origin.undeclared() || b.origin == unclear):
		if b.origin == unclear {
			return value{origin: a.origin}
		}
		return value{origin: b.origin}
	case a.origin == allKeys && b.origin == tabular:
		t := newTable()
		t.merge(b.table, depth)
		t.add(value{origin: declared})
		return value{origin: tabular, table: t}
	}
	return value{origin: unclear}
}

func joinSame(a, b value, depth int) value {
	switch a.origin {
	case literal:
		if a.texts == nil || b.texts == nil {
			return value{origin: literal}
		}
		texts := slices.Clone(a.texts)
		for _, s := range b.texts {
			if !slices.Contains(texts, s) {
				texts = append(texts, s)
			}
		}
		if len(texts) > maxTexts {
			return value{origin: literal}
		}
		return value{origin: literal, texts: texts}
	case tabular:
		if a.table == b.table {
			return a
		}
		if depth >= maxJoined {
			return value{origin: unclear}
		}
		t := newTable()
		t.merge(a.table, depth+1)
		t.merge(b.table, depth+1)
		return value{origin: tabular, table: t}
	case callable:
		if a.function != b.function {
			return value{origin: unclear}
		}
	case library:
		if a.name != b.name {
			return value{origin: unclear}
		}
	}
	return a
}

// collect returns an element of a collection that holds both values. A reader may know which one it is, as
// in a list of alternating keys and values.
func collect(a, b value) value { return collectTo(a, b, 0) }

func collectTo(a, b value, depth int) value {
	switch {
	case a.origin == unclear, b.origin == unclear,
		a.origin == declared && b.origin.undeclared(), b.origin == declared && a.origin.undeclared():
		return value{origin: unclear}
	}
	return joinTo(a, b, depth)
}

// values are the results of an expression list or a call.
type values struct {
	list []value
	open bool  // any number of further values may follow
	rest value // the join of the further values
}

func one(v value) values { return values{list: []value{v}} }

func (v values) at(i int) value {
	switch {
	case i < len(v.list):
		return v.list[i]
	case v.open:
		return v.rest
	}
	return value{}
}

// from drops the first n values.
func (v values) from(n int) values {
	v.list = v.list[min(n, len(v.list)):]
	return v
}

// all returns the join of all values.
func (v values) all() value {
	out := v.rest
	for _, each := range v.list {
		out = collect(out, each)
	}
	return out
}
