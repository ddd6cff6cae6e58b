package lexical

import (
	"path"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// declare binds the names that a token declares: imports, assignments, types, bases, results and parameters.
func (s *scanner) declare(i int) {
	switch tok := s.at(i); {
	case tok.kind == sign && assigns[tok.text]:
		s.assignment(i)
	case s.is(i, "=>"), s.lang.id == Java && s.is(i, "->"), s.lang.id == Kotlin && (s.is(i, "->") || s.is(i, "{")),
		s.is(i+1, "|") && (s.is(i, "{") || s.is(i, "do")), s.is(i, "lambda"), s.is(i, "function"), s.is(i, "fn"):
		s.parameters(i)
	case tok.kind != word || s.member(i-1):
	case importing[tok.text] && (tok.nl || s.is(i-1, ";") || s.is(i-1, ":")) && !s.member(i+1) && (s.lang.id == Go || !s.is(i+1, "(")):
		s.imports(i)
	case tok.text == "class" && s.at(i+1).kind == word:
		s.base(i)
	case tok.text == "as" && s.lang.id == Python: // with a as b
		s.bind(s.at(i+1).text, i, s.ending(i-1))
	case (tok.text == "in" || tok.text == "of") && (s.is(i-2, "for") || declares[s.at(i-2).text]): // for each of some clients
		s.bind(s.at(i-1).text, i, s.starting(i+1))
	case tok.text == "return", tok.text == "yield":
		s.result(i, s.starting(i+1))
	case !keyword[tok.text]:
		s.typedName(i)
	}
}

// result binds the name of the present function to a client that it returns.
func (s *scanner) result(i int, v value) {
	if n := len(s.heads); n > 0 && !s.heads[n-1].class && v.counts() {
		s.bind(s.heads[n-1].name, i, v)
	}
}

// assignment binds the name before a sign that assigns.
func (s *scanner) assignment(i int) {
	j, v := i-1, s.starting(i+1)
	switch {
	case s.is(j, "}") && s.lang.id == JS: // { a, b: c } = …
		for k := max(s.at(j).match, j-maxLook); k < j && v.counts(); k++ {
			if s.at(k).kind == word && !s.is(k+1, ":") && !accessory.MatchString(s.at(k).text) {
				s.bind(s.at(k).text, i, v)
			}
		}
		return
	case s.is(j, "]"): // clients[key] = …
		j = s.at(j).match - 1
	case s.is(j, ")"): // fun f() = …
		if j = s.at(j).match - 1; !v.counts() {
			return
		}
	}
	if tok := s.at(i + 1); s.at(j).kind == word && (tok.kind == text && !tok.holed || tok.kind == num || tok.text == "False") {
		s.constants[s.at(j).text] = tok.text
	}
	static := !s.lang.hoists && s.lang.id != JS
	if (v.is == named || static) && v.is != redis && !declares[s.at(j-1).text] && s.lookup(s.at(j).text, i).is == redis {
		return // the declared type, or an earlier value, says more
	}
	if s.at(j).kind == word && v.is != unknown && !(s.is(j-1, ",") && s.up[i] < 0 && s.lang.hoists) {
		s.bind(s.at(j).text, i, v)
	}
	if s.lang.id == Ruby { // the last value of a method is its result
		s.result(i, v)
	}
}

// typedName binds a name beside its type: Type name, name: Type, or name Type.
func (s *scanner) typedName(i int) {
	from := 0
	switch next := s.at(i + 1); {
	case s.lang.typeFirst && (next.kind == sign || next.kind == open || next.kind == clos || next.text == "in"):
		from = s.typeBefore(i)
	case s.lang.id == Go && !next.nl && (s.at(i).nl || s.is(i-1, "(") || s.is(i-1, ",") || s.is(i-1, "var")):
		for from = i + 1; from < i+5 && (s.is(from, "*") || s.is(from, "[") || s.is(from, "]")); from++ {
		}
		if !s.is(from+1, ".") {
			return
		}
	case s.lang.typeFirst || s.lang.id == Ruby || s.lang.id == Go:
	case next.text == ":" && next.kind == sign:
		from = i + 2
	case (next.text == "?" || next.text == "!") && s.is(i+2, ":"):
		from = i + 3
	}
	before, to := s.at(i-1), from+maxLook
	switch {
	case from == 0:
		return
	case s.lang.typeFirst:
		to = i
	case s.at(from).nl, !s.at(i).nl && before.kind == sign && before.text != "," && before.text != ";": // c ? a : b
		return
	}
	if v, known := s.typed(from, to); v.counts() || known && !s.is(i+1, "(") {
		s.bind(s.at(i).text, i, v)
	}
}

// typeBefore is the first token of the type before a name, 0 without a type.
func (s *scanner) typeBefore(i int) int {
	j := i - 1
	for n := 0; n < 3 && (s.is(j, "?") || s.is(j, "]") || s.is(j, "[") || s.is(j, "&") || s.is(j, "...")); n++ {
		j--
	}
	if s.is(j, ">") {
		j = s.generic(j) - 1
	}
	if s.at(j).kind != word || keyword[s.at(j).text] || s.at(i).nl && s.lang.id != CSharp || s.lang.id == PHP && s.at(i).text[0] != '$' {
		return 0
	}
	for s.is(j-1, ".") && s.at(j-2).kind == word {
		j -= 2
	}
	if s.member(j - 1) {
		return 0
	}
	return j
}

// typed evaluates a type; known is false without one. The type of an element counts only in a wrapper, such as Optional.
func (s *scanner) typed(from, to int) (v value, known bool) {
	depth, inside := 0, true
	for j := from; j < to; j++ {
		tok := s.at(j)
		name, last := tok.text, tok.text
		switch {
		case name == "<", name == "[":
			inside = inside && wrappers[s.at(j-1).text]
			depth++
			continue
		case name == ">", name == "]":
			depth--
			continue
		case name == ".", name == "|", name == "?", name == "," && depth > 0:
			continue
		case tok.kind == text && s.lang.id == Python: // "redis.Redis"
			name = name[strings.LastIndexByte(name, '.')+1:]
		case tok.kind != word || depth == 0 && j > from && (s.at(j-1).kind == word && !opaque[s.at(j-1).text] || tok.nl && !s.is(j-1, "|")):
			return v, known
		}
		if s.is(j+1, ".") && s.at(j+2).kind == word {
			last = s.at(j + 2).text
		}
		role := classRole(s.lang.id, last)
		switch w := s.lookup(name, j); {
		case opaque[name], wrappers[name], len(name) == 1 && upper(name), typeParameter.MatchString(name) && w.is < redis:
			known = true
		case !inside && depth > 0:
		case w.is == redis && (role != unset || !accessory.MatchString(last)):
			if role != unset {
				w.role = role
			}
			return w, true
		case v.is == unknown && (primitive[name] || rivals.MatchString(name)):
			v.is, known = never, true
		case v.is == unknown && upper(last):
			v.is, known = stranger, true
		}
	}
	return v, known
}

// base binds the object itself in a class that is derived from a client.
func (s *scanner) base(i int) {
	v := value{is: stranger}
	for j := i + 2; j < i+maxLook && !s.is(j, "{") && !s.is(j, "implements") && !(s.at(j).nl && s.lang.indents); j++ {
		switch w := s.lookup(s.at(j).text, j); {
		case s.is(j, "(") && s.lang.id != Python:
			j = s.at(j).match
		case s.at(j).kind == word && derives[s.at(j-1).text] && w.is == redis && (w.role == client || w.role == container):
			v = w
			s.bind(s.at(i+1).text, i, v)
		}
	}
	for name := range itself {
		s.bind(name, i, v)
	}
}

// parameters binds the parameters of a function, or of a block, by the call that receives it.
func (s *scanner) parameters(i int) {
	first, last := i+1, i+1
	switch {
	case s.is(i, "=>"), s.is(i, "->"): // x ->, (x, y) =>
		if first, last = i-1, i; s.is(i-1, ")") {
			first = s.at(i-1).match + 1
		}
	case s.is(i+1, "|"), s.is(i, "lambda"), (s.is(i, "function") || s.is(i, "fn")) && s.is(i+1, "("):
		for last = i + 2; last < i+12 && !s.is(last, "|") && !s.is(last, ":") && !s.is(last, ")"); last++ {
		}
	}
	at := s.up[i]
	switch {
	case s.is(i+1, "|"):
		at = i
	case first < i && s.is(first-1, "(") && s.at(first-1).match == i-1:
		at = s.up[first-1]
	}
	v := s.yielded(at)
	for k := max(first, 0); k < last; k++ {
		if s.at(k).kind == word && !s.is(k-1, ":") && (k+1 == last || s.is(k+1, ",") || s.is(k+1, ")")) {
			s.bind(s.at(k).text, i, v)
		}
	}
	if first == last && s.lang.id == Kotlin {
		s.bind("it", i, s.yielded(i))
	}
}

// yielded is the argument of a function within the bracket of a call, or of the block that begins here.
func (s *scanner) yielded(at int) value {
	k := at - 1
	if s.is(k, ")") && (s.is(at, "{") || s.is(at, "do")) {
		k = s.at(k).match - 1
	}
	name := s.at(k).text
	r, hands := yields[fold(name)]
	if at < 1 || s.at(k).kind != word || !hands && !handsClient.MatchString(name) {
		return value{}
	}
	v := s.lookup(name, k)
	if s.member(k-1) && !v.counts() {
		v = s.ending(k - 2)
	}
	if !v.counts() && hands {
		return value{}
	}
	v.is = max(v.is, named)
	if r != unset {
		v.role = r
	}
	return v
}

// imports binds the names that an import declares.
func (s *scanner) imports(i int) {
	end, from := i+1, ""
	for ; end < i+200 && end < len(s.all) && !s.is(end, ";") && !s.is(end, "=") && !(s.at(end).nl && s.up[end] == s.up[i]); end++ {
		tok := s.at(end)
		switch {
		case tok.kind == text && s.lang.id == Go:
			v, name := value{is: stranger}, path.Base(tok.text)
			if _, known := rediscalls.LibraryOfPath(tok.text); known {
				v, name = value{redis, client}, goName(tok.text)
			}
			if s.at(end-1).kind == word && !s.is(end-1, "import") {
				name = s.at(end - 1).text
			}
			s.bind(name, i, v)
		case tok.kind == text:
			from = tok.text
		case s.lang.id != JS && (s.up[end] == s.up[i]) && !s.is(i+1, "as"):
			from += tok.text
		}
	}
	from, _, _ = strings.Cut(from, "import")
	v := s.module(from)
	if v.is == stranger && (s.is(i, "from") || s.lang.id == PHP || s.lang.id == CSharp) {
		v = value{} // a module of the same tree may be anything
	}
	if s.lang.id == Python && s.is(i, "import") {
		s.bind(s.at(i+1).text, i, v)
	}
	for j := i + 1; j < end; j++ {
		name, next := s.at(j).text[strings.LastIndexByte(s.at(j).text, '\\')+1:], s.at(j+1).text
		if s.at(j).kind != word || next == "." || next == "as" || next == "import" || accessory.MatchString(name) {
			continue
		}
		w := v
		if !v.counts() && redisModule.MatchString(from) && connectionName.MatchString(name) { // Acme\Redis\Connection
			w = value{redis, client}
		}
		if r := classRole(s.lang.id, name); r != unset && v.is == redis && v.role == client {
			w.role = r
		}
		if w.is != unknown {
			s.bind(name, i, w)
		}
	}
}

// module evaluates an import by its path.
func (s *scanner) module(from string) value {
	own := ownModule.MatchString(from)
	switch {
	case queueLibrary.MatchString(from):
		return value{redis, queue}
	case library.MatchString(from) && !own:
		s.imported = true
		return value{redis, client}
	case rivals.MatchString(from) && !own:
		s.rivals = true
		return value{is: never}
	case own && redisModule.MatchString(path.Base(from)) && !accessory.MatchString(path.Base(from)):
		return value{redis, client}
	case own:
		return value{}
	}
	return value{is: stranger}
}

// goName is the name of an imported package of Go.
func goName(path string) string {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "radix") || part == "rueidis" || part == "valkey-go" {
			return strings.TrimSuffix(part, "-go")
		}
	}
	return "redis"
}
