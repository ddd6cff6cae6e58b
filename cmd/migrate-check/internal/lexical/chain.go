package lexical

import "strings"

// member reports whether a sign stands here behind which the name of a member comes.
func (s *scanner) member(i int) bool {
	tok := s.at(i)
	if tok.kind != sign {
		return false
	}
	switch tok.text {
	case ".": // in PHP it puts texts together
		return s.lang.id != PHP
	case "?.", "&.", "!.":
		return true
	case "->", "?->":
		return s.lang.id == PHP
	case "::":
		return s.lang.id == PHP || s.lang.id == Ruby
	}
	return false
}

// defines are words before a name that is no expression.
var defines = words("fun def func function class interface struct module")

// leading are keywords that an expression begins with.
var leading = words("new this self super")

// begins reports whether an expression with members begins here.
func (s *scanner) begins(i int) bool {
	tok := s.at(i)
	switch tok.kind {
	case word:
		return !s.member(i-1) && !defines[s.at(i-1).text] && (!notNames[tok.text] || leading[tok.text])
	case open: // (a or b).c
		return tok.text == "(" && tok.match < len(s.all) && s.member(tok.match+1) && !s.callParen(i) && !s.member(i-1)
	}
	return false
}

// choices are operators between alternatives.
var choices = words("|| ?? ?: ? && or and else if")

// value evaluates an expression and its alternatives: a or b, c ? a : b.
func (s *scanner) value(i int) value {
	v, next := s.operand(i)
	for n := 0; n < 6 && !v.redis(); n++ {
		switch tok := s.at(next); {
		case tok.kind != text && !tok.nl && choices[tok.text], tok.kind == sign && (choices[tok.text] || tok.text == ":" && n > 0):
			var w value
			if w, next = s.operand(next + 1); w.redis() {
				return w
			}
		case tok.kind == sign && (tok.text == "==" || tok.text == "===" || tok.text == "!=" || tok.text == "!=="):
			_, next = s.operand(next + 1)
		default:
			return v
		}
	}
	return v
}

// before are words before an expression that do not change its value.
var before = words("await yield from return new not typeof async as ref out val const move try raise throw")

// operand evaluates the expression at a token, and returns where it ends.
func (s *scanner) operand(i int) (value, int) {
	for range 8 {
		tok := s.at(i)
		if tok.kind == word && before[tok.text] && tok.text != "new" && !s.member(i+1) && s.at(i+1).kind != sign {
			i++
			continue
		}
		break
	}
	return s.chain(i)
}

// chain evaluates a.b(…).c(…), and reports what its calls send.
func (s *scanner) chain(i int) (value, int) {
	if r, ok := s.chains[i]; ok {
		return r.value, r.next
	}
	s.steps++
	if s.depth >= maxDepth || i >= len(s.all) {
		return value{}, i + 1
	}
	s.depth++
	s.chains[i] = evaluated{value{}, i + 1}
	v, next := s.first(i)
	if next > i {
		v, next = s.rest(v, next)
	}
	s.depth--
	s.chains[i] = evaluated{v, max(next, i+1)}
	return v, max(next, i+1)
}

// first evaluates the first operand of an expression.
func (s *scanner) first(i int) (value, int) {
	tok := s.at(i)
	switch tok.kind {
	case text:
		return value{role: other, konst: !tok.holed, text: tok.text}, i + 1
	case num:
		return value{role: other, konst: true, text: tok.text}, i + 1
	case open:
		return s.group(i)
	case word:
	default:
		return value{}, i
	}
	switch tok.text {
	case "new":
		if s.lang.id == Ruby || s.lang.id == Python || s.at(i+1).kind != word {
			return value{}, i + 1
		}
		return s.construct(i + 1)
	case "True", "true", "False", "false", "None", "null", "nil", "undefined", "NULL":
		return value{konst: true, text: tok.text}, i + 1
	case "this", "self", "$this", "cls", "static", "parent":
		if tok.text == "self" || tok.text == "this" || tok.text == "$this" || s.lang.id == PHP || s.lang.id == Python {
			return value{self: true, name: tok.text}, i + 1
		}
	case "super":
		return value{self: true}, i + 1
	case "require", "import":
		if s.lang.id == JS && s.is(i+1, "(") && s.at(i+2).kind == text {
			s.imported(s.at(i+2).text, "", -1)
			return s.required(s.at(i + 2).text), s.at(i+1).match + 1
		}
	case "lambda", "function", "fn", "func", "fun", "async":
		for b := s.in[min(i+2, len(s.all))]; b > 0 && s.blocks[b].from >= i; b = s.blocks[b].parent {
			if s.blocks[b].fn {
				return s.returned(s.blocks[b]), min(s.blocks[b].to, len(s.all))
			}
		}
	}
	if s.is(i+1, "=>") && s.blocks[s.in[i]].from == i {
		return s.returned(s.blocks[s.in[i]]), s.blocks[s.in[i]].to
	}
	v := s.lookup(tok.text, i)
	v.name = tok.text
	next := i + 1
	if v.class && (s.is(next, "(") || s.is(next, "{") && s.lang.id == Go) && s.lang.id != Ruby {
		s.made(v, i)
		return s.instance(v), s.called(next)
	}
	if s.is(next, "(") && !s.at(next).nl {
		if c := (&call{scanner: s, recv: s.named(tok.text), name: fold(tok.text), pos: i, open: next}); sendsByName[c.name] {
			c.arguments()
			return byName(c), s.called(next)
		}
		if s.at(next+1).kind == text && finds[fold(tok.text)] && saysRedis(s.at(next+1).text) { // app('redis')
			v = s.named(s.at(next + 1).text)
		}
		next = s.called(next)
	}
	return v, next
}

// sendsByName are functions without a receiver that send the command they are told.
var sendsByName = words("SENDCOMMAND EXECUTECOMMAND EXECUTETYPED EXECUTERAW RAWCOMMAND")

// finds are functions and methods that find a service by its name.
var finds = words("APP MAKE GET GETBEAN RESOLVE SERVICE INJECT")

// called is the token behind the arguments of a call.
func (s *scanner) called(open int) int { return min(s.at(open).match, len(s.all)) + 1 }

// group evaluates an expression in brackets: (a or b), (Type) a, (a) => b.
func (s *scanner) group(i int) (value, int) {
	tok := s.at(i)
	next := min(tok.match, len(s.all)) + 1
	if tok.text != "(" {
		return value{role: other}, next
	}
	if s.is(next, "=>") || s.is(next, ":") && s.lang.id == JS || s.is(next, "->") && s.lang.id != PHP {
		for b := s.in[i]; b > 0; b = s.blocks[b].parent {
			if s.blocks[b].from == i {
				return s.returned(s.blocks[b]), s.blocks[b].to
			}
		}
	}
	v := s.value(i + 1)
	if last := s.at(tok.match - 1); s.is(i+1, "0") && s.is(i+2, ",") { // (0, redis_1.createClient)(…)
		v = s.value(i + 3)
		if s.is(next, "(") {
			return s.instance(v), s.called(next)
		}
	} else if typed := last.kind == word || last.text == ">"; typed && s.at(next).kind == word && !s.at(next).nl &&
		(v.class || v.role == unknown) {
		w, end := s.chain(next)
		if v.redis() && !w.redis() {
			return s.instance(v), end
		}
		return w, end
	}
	return v, next
}

// construct evaluates new a.B(…).
func (s *scanner) construct(i int) (value, int) {
	j := i
	for (s.is(j+1, ".") || s.is(j+1, "::")) && s.at(j+2).kind == word {
		j += 2
	}
	name := s.at(j).text
	if s.is(i, "class") && s.lang.id == PHP { // new class extends A { … }
		for ; j < i+maxLook && !s.is(j, "{"); j++ {
		}
		return s.base(&block{from: i, bases: s.wordsIn(i+1, j)}), min(s.at(j).match, len(s.all)) + 1
	}
	v := s.typeValue(i, j+1)
	next := j + 1
	if s.is(next, "<") {
		next = s.generic(next)
	}
	if v.redis() {
		v.name = name
		s.made(v, j)
	}
	if s.is(next, "(") {
		next = s.called(next)
	}
	return s.instance(v), next
}

// generic is the token behind <…>, or the same one if that is an operator.
func (s *scanner) generic(i int) int {
	depth := 0
	for j := i; j < i+30; j++ {
		switch tok := s.at(j); {
		case tok.text == "<" && tok.kind == sign:
			depth++
		case tok.text == ">" && tok.kind == sign:
			if depth--; depth == 0 {
				return j + 1
			}
		case tok.kind == word, tok.text == ",", tok.text == ".", tok.text == "?", tok.text == "[", tok.text == "]":
		default:
			return i
		}
	}
	return i
}

// instance is an object of a class.
func (s *scanner) instance(v value) value {
	if v.class && v.redis() {
		v.class = false
		if v.role == queue {
			v.role = other
		}
	}
	return v
}

// rest evaluates the members behind a value.
func (s *scanner) rest(v value, i int) (value, int) {
	for {
		s.steps++
		tok := s.at(i)
		switch {
		case s.member(i) && s.at(i+1).kind == word:
			v, i = s.step(v, i+1)
		case s.member(i) && s.is(i+1, "<") && s.generic(i+1) > i+1: // a.<T>b()
			v, i = s.step(v, s.generic(i+1))
		case tok.kind == sign && tok.text == "!!", tok.kind == sign && tok.text == "!" && s.member(i+1):
			i++
		case tok.kind == open && tok.text == "[" && !tok.nl && !tok.space:
			v.name, i = s.at(i+1).text, s.called(i)
		default:
			return v, i
		}
		if i >= len(s.all) {
			return v, i
		}
	}
}

// step evaluates a member, which is called or not.
func (s *scanner) step(v value, at int) (value, int) {
	name, next := s.at(at).text, at+1
	given := [2]int{next, next} // its type arguments
	if s.is(next, "<") && s.lang.id != Ruby && s.lang.id != Python && s.lang.id != PHP {
		if end := s.generic(next); s.is(end, "(") {
			given = [2]int{next + 1, end - 1}
			next = end
		}
	}
	c := &call{scanner: s, recv: v, name: fold(name), pos: at, open: -1}
	isCall := s.is(next, "(") && !s.at(next).nl
	if isCall {
		c.open = next
		next = s.called(next)
	}
	if s.is(next, "{") && !s.at(next).nl && (s.lang.id == Kotlin || s.lang.id == Ruby) {
		c.block = next
		isCall = true
	} else if s.is(next, "do") && s.lang.id == Ruby && !s.at(next).nl {
		c.block = next
	}
	if s.lang.id == Ruby {
		isCall = true
	}
	if isCall {
		c.arguments()
		v = c.judge()
		if w := s.typeValue(given[0], given[1]); !v.redis() && w.redis() { // provider.get<Redis>()
			v = s.instance(w)
		}
		v.called = c.open >= 0
		if c.block > 0 && s.at(c.block).kind == open && s.at(c.block).match < len(s.all) {
			next = s.at(c.block).match + 1
		}
	} else {
		v = s.property(v, name, at)
	}
	v.name = name
	return v, next
}

// property evaluates a member that is not called.
func (s *scanner) property(v value, name string, at int) value {
	switch {
	case v.self:
		return s.field(name, at)
	case v.class && v.redis():
		if r, ok := classRole(s.lang.id, name); ok && v.sure {
			v.role = r
		}
		v.name = name
		return v
	case v.redis() && s.lang.id == Kotlin && name == "keys":
		return value{role: keyspace, lib: v.lib, sure: v.sure}
	case v.redis():
		e, ok := s.effectOf(v.role, fold(name))
		if !ok && s.lang.id == Kotlin {
			e, ok = s.effectOf(v.role, "GET"+fold(name))
		}
		if ok && e.to != unknown && e.do == nil && e.sends == "" {
			return value{role: e.to, lib: v.lib, sure: v.sure, begun: v.begun}
		}
		if s.promisified(at) {
			if command, ok := commandOf(name, v.sure); ok {
				(&call{scanner: s, recv: v, name: fold(name), pos: at, open: -1}).command(command)
			}
		}
		if saysRedis(name) || connectionName.MatchString(name) {
			return v
		}
		return value{role: other}
	}
	if w := s.field(name, at); w.role != unknown && (v.role != other || s.lang.id == Go) {
		return w
	}
	if saysRedis(name) {
		return s.named(name)
	}
	if v.role == other && !v.konst {
		return value{role: other}
	}
	return value{}
}

// promisified reports whether a method is handed to promisify.
func (s *scanner) promisified(at int) bool {
	up := s.up[at]
	return up > 0 && strings.HasPrefix(s.at(up-1).text, "promisify")
}
