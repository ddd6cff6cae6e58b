package scriptcheck

import "slices"

// origin is where a value comes from.
type origin uint8

const (
	nothing  origin = iota // nil, or not assigned so far
	declared               // an element of KEYS
	literal                // stands in the script
	argument               // ARGV, or something out of it
	reply                  // what Redis answered, or something out of it
	computed               // made of something
	unclear                // could be anything
	allKeys                // KEYS
	tabular                // a table of the script
	callable               // a function of the script
	library                // something of Lua's or Redis'
)

// undeclared reports whether it is sure to be none of KEYS.
func (o origin) undeclared() bool { return o >= literal && o <= computed }

// value is what is known of a value.
type value struct {
	origin   origin
	texts    []string // of a literal: one of these; none if there are too many
	table    *table
	function *function
	name     string // of something of the library: "redis.call"
}

func textOf(s string) value { return value{origin: literal, texts: []string{s}} }

// text returns what is sure to be the value.
func (v value) text() (string, bool) {
	if v.origin == literal && len(v.texts) == 1 {
		return v.texts[0], true
	}
	return "", false
}

// truthy reports whether it is sure to be neither nil nor false.
func (v value) truthy() bool {
	switch v.origin {
	case literal, allKeys, tabular, callable, library:
		return true
	}
	return false
}

// maxTexts is how many literals a variable is followed with.
const maxTexts = 8

// join is what a variable holds that may hold either. For a key the worse decides.
func join(a, b value) value { return joinTo(a, b, 0) }

// maxJoined is how deep tables in tables are joined: they may contain each other.
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

// collect is what comes out of a heap into which both were put. Which of them it is may be
// clear to the reader, as in a list of keys and values in turn.
func collect(a, b value) value { return collectTo(a, b, 0) }

func collectTo(a, b value, depth int) value {
	switch {
	case a.origin == unclear, b.origin == unclear,
		a.origin == declared && b.origin.undeclared(), b.origin == declared && a.origin.undeclared():
		return value{origin: unclear}
	}
	return joinTo(a, b, depth)
}

// values is what a list of expressions, or a call, results in.
type values struct {
	list []value
	open bool  // any number of others may follow
	rest value // each of them
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

// from drops the first n.
func (v values) from(n int) values {
	v.list = v.list[min(n, len(v.list)):]
	return v
}

// all is what any of them may be.
func (v values) all() value {
	out := v.rest
	for _, each := range v.list {
		out = collect(out, each)
	}
	return out
}
