package lexical

import (
	"sort"
	"strings"
)

// The receiver rule: a method counts on a receiver that is named after Redis, or named like a connection or a pipeline, or
// that is assigned, declared or handed over from one in the file. The last declaration before a use decides, wherever
// its scope ends.

// origin orders the evidence that an expression is a client.
type origin uint8

const (
	unknown  origin = iota
	stranger        // a type or a module that does not say Redis; the name of the variable may
	never           // a string, a collection, or a client of another system
	named           // named like a connection
	redis           // the name, type or value says Redis
)

// value is the evidence for an expression, and its role.
type value struct {
	is   origin
	role role
}

// counts reports whether the methods of a value are commands.
func (v value) counts() bool { return v.is >= named }

// bound is a declaration of a name.
type bound struct {
	at int
	value
}

func bare(name string) string { return strings.TrimLeft(name, `$@#\`) }

// bind declares a name from a token on.
func (s *scanner) bind(name string, at int, v value) {
	name = bare(name[strings.LastIndexByte(name, '\\')+1:])
	if len(s.next[name]) < maxBound && !keyword[name] {
		s.next[name] = append(s.next[name], bound{at, v})
	}
}

// lookup evaluates a name by its last declaration before a token, or else the first one behind, and by the name itself.
func (s *scanner) lookup(name string, at int) value {
	plain := bare(name[strings.LastIndexByte(name, '\\')+1:])
	var v value
	if all := s.names[plain]; len(all) > 0 {
		n := sort.Search(len(all), func(i int) bool { return all[i].at > at })
		v = all[max(n-1, 0)].value
	}
	switch {
	case v.is == redis || v.is == never || keyword[plain]:
		return v
	case saysRedis(plain), s.lang.id == PHP && saysRedis(name):
		if r := classRole(s.lang.id, plain); r != "" {
			return value{redis, r}
		}
		return value{redis, client}
	case v.is == stranger:
		return v
	}
	if r := classRole(s.lang.id, plain); r != "" && (s.imported || !shared[plain]) {
		return value{redis, r}
	}
	if !s.rivals && !rivals.MatchString(plain) {
		switch {
		case pipeName.MatchString(plain):
			return value{named, pipe}
		case connectionName.MatchString(plain), s.lang.id == CSharp && databaseName.MatchString(plain):
			return value{named, client}
		}
	}
	return v
}

// member reports whether the name of a member follows this sign.
func (s *scanner) member(i int) bool {
	tok := s.at(i)
	if tok.kind != sign {
		return false
	}
	switch tok.text {
	case ".": // in PHP it concatenates strings
		return s.lang.id != PHP
	case "?.", "&.", "!.":
		return true
	case "->", "?->":
		return s.lang.id == PHP
	case "::":
		return s.lang.id != Python && s.lang.id != Go
	}
	return false
}

// ending evaluates the expression that ends with a token: the last link decides, unless it passes its receiver on.
func (s *scanner) ending(j int) value {
	s.steps++
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		return value{}
	}
	for s.is(j, "!!") || s.is(j, "!") {
		j--
	}
	tok := s.at(j)
	switch {
	case tok.kind == clos && tok.match > 0 && tok.text == ")":
		k := tok.match - 1
		if s.is(k, ">") { // get<Redis>()
			if v, _ := s.typed(s.generic(k)+1, k); v.counts() {
				return v
			}
			k = s.generic(k) - 1
		}
		if s.at(k).kind == word && !control[s.at(k).text] {
			return s.link(k, tok.match)
		}
		return s.starting(tok.match + 1)
	case tok.kind == clos && tok.match > 0: // clients[key], or use { … }
		return s.ending(tok.match - 1)
	case tok.kind == word:
		return s.link(j, -1)
	}
	return value{}
}

// link evaluates a name, which is called if open is a bracket.
func (s *scanner) link(k, open int) value {
	name := fold(s.at(k).text)
	v := s.lookup(s.at(k).text, k)
	before := k - 1
	if s.is(before, ">") { // a.<T>b()
		before = s.generic(before) - 1
	}
	inner := s.member(before)
	if open > 0 && s.at(open+1).kind == text && services[name] && len(s.at(open+1).text) < maxName && saysRedis(s.at(open+1).text) {
		return value{is: redis, role: client} // app('redis')
	}
	if !inner {
		constructs := s.is(k-1, "new") || upper(s.at(k).text) && (s.lang.id == Python || s.lang.id == Kotlin)
		if v.is < redis && open > 0 && constructs {
			v.is = stranger
		}
		return v
	}
	receiver := s.ending(before - 1)
	r, passes := passing[name]
	if open < 0 && s.lang.id == Kotlin && !passes { // a property
		r, passes = passing["GET"+name]
	} else if open < 0 && (s.lang.id == JS || s.lang.id == Python) {
		passes = false
	}
	switch {
	case receiver.is == never || receiver.is == stranger && v.is < named && !itself[s.at(before-1).text]:
		return receiver
	case passes && receiver.counts() && (name != "GET" || s.is(open+1, ")")):
		if r == client {
			r = receiver.role
		}
		return value{receiver.is, r}
	case receiver.counts() && receiver.role == pipe && open > 0 && !finishes[name]:
		return receiver
	case passes && r != client && r != pipe && r != plain && (s.lang.id == Java || s.lang.id == Kotlin): // getBlockingQueue
		return value{redis, r}
	}
	return v
}

// generic is the token of the bracket that begins <…>.
func (s *scanner) generic(end int) int {
	depth := 0
	for j := end; j > end-maxLook && j > 0; j-- {
		switch {
		case s.is(j, ">"):
			depth++
		case s.is(j, "<"):
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return end
}

// starting evaluates the expression that begins here, and its alternatives: a or b, c ? a : b.
func (s *scanner) starting(i int) value {
	var v value
	s.depth++
	defer func() { s.depth-- }()
	for n := 0; n < 6 && s.depth <= maxDepth; n++ {
		for n := 0; n < 6 && before[s.at(i).text] && s.at(i).kind == word && s.at(i+1).kind != sign; n++ {
			i++
		}
		if s.is(i-1, "throw") || s.is(i-1, "raise") {
			return v
		}
		w, next := value{}, i+1
		if tok := s.at(i); tok.kind == word && (!keyword[tok.text] || tok.text == "require") || tok.kind == open && tok.text != "{" {
			end := s.endOf(i)
			if next = end + 1; tok.kind == word || end > i && tok.text == "(" {
				w = s.ending(end)
			}
			if required := s.at(i + 2); tok.text == "require" && s.is(i+1, "(") && required.kind == text {
				w = s.module(required.text)
			}
		}
		after := s.at(next)
		python := after.text == "if" && s.lang.id == Python && !after.nl // a if c else b
		if condition := conditions[after.text] && !python; !condition {
			if w.counts() {
				return w
			}
			if v.is == unknown {
				v = w
			}
		}
		switch {
		case s.lang.id == Ruby && after.text == "{" && after.kind == open && !w.counts(): // ConnectionPool.new { Redis.new }
		case after.kind == text || after.nl && after.kind == word || !choices[after.text]:
			return v
		}
		i = next + 1
	}
	return v
}

// endOf is the last token of the chain of calls that begins here.
func (s *scanner) endOf(i int) int {
	if s.at(i).kind == open {
		i = min(s.at(i).match, len(s.all)-1)
	}
	for range maxLook {
		s.steps++
		next := s.at(i + 1)
		switch {
		case s.member(i+1) && s.at(i+2).kind == word:
			i += 2
		case next.kind == open && !next.nl && (next.text == "(" || next.text == "[" && !next.space) && next.match < len(s.all):
			i = next.match
		case next.text == "!!" || next.text == "!" && s.member(i+2):
			i++
		case next.text == "<" && next.kind == sign && s.lang.id != Python && s.lang.id != Ruby:
			j := i + 2
			for ; j < i+12 && (s.at(j).kind == word || s.is(j, ",") || s.is(j, ".")); j++ {
			}
			if !s.is(j, ">") || !s.is(j+1, "(") {
				return i
			}
			i = j
		default:
			return i
		}
	}
	return i
}

func upper(name string) bool {
	name = bare(name)
	return name != "" && name[0] >= 'A' && name[0] <= 'Z'
}
