package lexical

import (
	"slices"
	"strings"
)

// binding gives a name a value: an import, a declared type, an assignment, a parameter, or a
// function with its result.
type binding struct {
	at     int // its token
	region int // the block that it holds in
	field  bool
	fn     bool
	loose  bool   // an assignment that may be to a name of a block around
	typed  [2]int // the tokens of its type
	values []int  // where the expressions of its value begin
	fixed  *value // of an import
	param  int    // of a parameter: the block of its function plus one
	known  *value
	busy   bool
}

func bare(name string) string { return strings.TrimLeft(name, "$@#") }

func (s *scanner) bind(name string, b binding) {
	name = bare(name)
	b.at = min(b.at, len(s.all))
	s.names[name] = append(s.names[name], &b)
}

// notNames are words that are no names of variables.
var notNames = words("if for while switch catch return new await yield else case default import from in of is as and or not typeof instanceof " +
	"public private protected static final readonly override abstract async function func fun def class interface struct object enum " +
	"const let var val throw throws try finally using namespace package true false null None nil self this super with do end then extends " +
	"implements global nonlocal print echo use internal sealed virtual export default lateinit companion operator suspend inline data " +
	"required init get set partial volatile transient synchronized unsafe extern ref out params del pass raise lambda elif except unless until " +
	"when module require begin rescue ensure elsif go defer type chan map range select goto foreach break continue void type")

var declares = words("let const var val my local")

// bindings collects the bindings of all names.
func (s *scanner) bindings() {
	for i := range s.all {
		tok := s.all[i]
		s.steps++
		switch {
		case tok.kind == word && !s.member(i-1):
			s.imports(i)
			s.typed(i)
			if s.lang.id == Python && tok.text == "as" && s.at(i+1).kind == word {
				s.bindAs(i)
			}
		case tok.kind == sign && assigns[tok.text] && i > 0:
			s.assignment(i)
		}
	}
	for i := range s.blocks {
		s.parameters(i)
	}
	for name, all := range s.names {
		slices.SortStableFunc(all, func(a, b *binding) int { return a.at - b.at })
		if len(all) > maxBindings {
			s.names[name] = all[:maxBindings]
		}
	}
	for _, all := range s.names {
		for _, b := range all {
			if b.loose {
				b.region = s.declaredIn(all, b)
			}
		}
	}
}

// maxBindings limits the bindings of a name: only generated files have more.
const maxBindings = 200

var assigns = words("= := ||= ??= |=")

// declaredIn is the block that declares the name of an assignment.
func (s *scanner) declaredIn(all []*binding, b *binding) int {
	for r := s.in[min(b.at, len(s.in)-1)]; r >= 0; r = s.blocks[r].parent {
		for _, d := range all {
			if !d.loose && d.region == r && !d.fn {
				return r
			}
		}
	}
	return 0
}

// assignment binds the name before a sign that assigns.
func (s *scanner) assignment(i int) {
	j, b := i-1, binding{at: i, region: s.in[i], values: []int{i + 1}}
	if tok := s.at(j); tok.kind == clos && s.lang.id == JS { // { a } = …, a[b] = …
		if tok.text == "}" && tok.match >= 0 {
			s.destructure(tok.match, j, i)
		}
		return
	}
	if s.is(j, "]") && s.at(j).match > 0 { // clients[key] = …, [channel] = …
		j = s.at(j).match - 1
		if s.at(j).kind != word {
			return
		}
	}
	name := s.at(j)
	if name.kind != word || notNames[name.text] {
		return
	}
	if up := s.up[i]; up >= 0 && s.is(up, "(") && s.lang.id != JS && s.callParen(up) && !s.isParam(i) { // a named argument
		return
	}
	b.field = s.member(j-1) || strings.HasPrefix(name.text, "@") || strings.HasPrefix(name.text, "#")
	switch {
	case b.field:
		b.region = s.classAround(s.in[i])
	case s.lang.hoists: // an assignment is a declaration for the function around
		b.region = s.function(i)
		if s.globals[name.text] || strings.HasPrefix(name.text, "$") && s.lang.id == Ruby {
			b.region = 0
		}
	case declares[s.at(j-1).text] || s.typeBefore(j) > 0 || s.is(i, ":="):
	default:
		b.loose = true
	}
	if s.is(j-1, ",") && s.lang.hoists { // a, b = x, y
		b.values = nil
	}
	if from := s.typeBefore(j); from > 0 {
		b.typed = [2]int{from, j}
	}
	if s.blocks[s.in[i]].class {
		b.field = true
	}
	s.bind(name.text, b)
}

// callParen reports whether a bracket holds the arguments of a call.
func (s *scanner) callParen(open int) bool {
	tok := s.at(open - 1)
	return tok.kind == word && !control[tok.text] || tok.kind == clos || tok.text == ">"
}

// isParam reports whether a token is in the parameters of the function around it.
func (s *scanner) isParam(i int) bool {
	b := s.blocks[s.in[i]]
	return i >= b.params[0] && i < b.params[1]
}

// destructure binds { a, b: c } = x.
func (s *scanner) destructure(from, to, at int) {
	b := binding{at: at, region: s.in[max(from-1, 0)], values: []int{at + 1}}
	if s.is(at+1, "this") { // its fields go by their names
		b.values = nil
	}
	for i := from + 1; i < to && i < from+maxLook; i++ {
		if s.at(i).kind == word && (s.is(i+1, ",") || s.is(i+1, "}") || s.is(i+1, "=")) {
			name := s.at(i).text
			source := name
			if s.is(i-1, ":") {
				source = s.at(i - 2).text
			}
			s.taken[at+1] = append(s.taken[at+1], name)
			s.bind(name, b)
			s.sources[name] = source
		}
	}
}

// bindAs binds the name after «as» in a with statement of Python.
func (s *scanner) bindAs(i int) {
	j := i - 1
	for n := 0; n < maxLook && j > 0; n++ {
		switch tok := s.at(j); {
		case tok.kind == clos && tok.match > 0:
			j = tok.match
		case tok.kind == word && tok.text == "with", tok.text == "," && s.up[j] == s.up[i] && s.up[i] < 0, tok.kind == open:
			b := binding{at: i, values: []int{j + 1}}
			b.region = s.function(i)
			s.bind(s.at(i+1).text, b)
			return
		case tok.kind == word && (tok.text == "import" || tok.text == "except" || tok.text == "case"), tok.nl:
			return
		}
		j--
	}
}

// parameters binds the parameters of a function, and the function to its result.
func (s *scanner) parameters(n int) {
	b := s.blocks[n]
	if b.fn && b.name != "" && b.parent >= 0 {
		r := binding{at: b.from, region: b.parent, fn: true, values: b.returns}
		if s.lang.id == Ruby && len(b.returns) == 0 {
			r.values = s.lastLine(b)
		}
		if end := b.params[1]; b.params[0] > 0 && s.is(end, ")") { // (…): Type, (…) -> Type
			if s.is(end+1, ":") && s.lang.id != Python || s.is(end+1, "->") {
				r.typed = [2]int{end + 2, s.endOfType(end + 2)}
			}
		}
		s.bind(b.name, r)
	}
	if !b.fn && !b.class || b.params[0] == 0 {
		return
	}
	start := true
	for i := b.params[0]; i < b.params[1]; i++ {
		tok := s.at(i)
		switch {
		case tok.kind == open && !s.is(i, "{"):
			i = tok.match
		case tok.text == ",":
			start = true
		case tok.kind == word && start && !s.member(i-1) && !s.member(i+1):
			if notNames[tok.text] || s.at(i+1).kind == word && !s.is(i+1, "in") && !s.is(i+1, "as") { // the name comes yet
				continue
			}
			next := s.at(i + 1)
			if next.kind == sign && next.text == ":" && s.lang.id != Ruby || next.kind == sign && next.text == "?" && s.is(i+2, ":") ||
				next.text == "<" {
				start = false
				continue // a type, or a name that typed has bound
			}
			p := binding{at: i, region: n, param: n + 1}
			if next.text == "=" || next.text == ":" && s.lang.id == Ruby && i+2 < b.params[1] && !s.is(i+2, ",") {
				p.values = []int{i + 2}
			}
			if s.typeBefore(i) <= 0 {
				s.bind(tok.text, p)
			}
			start = s.is(s.up[i], "{")
		}
	}
}

// lastLine is where the last statement of a function of Ruby begins, which is its value.
func (s *scanner) lastLine(b block) []int {
	for i := min(b.to, len(s.all)) - 1; i >= b.from && i > b.to-maxLook; i-- {
		if s.at(i).nl && s.at(i).kind != clos && !s.is(i, "end") && !s.member(i) {
			if j := i + 1; assigns[s.at(j).text] && s.at(j).kind == sign {
				return []int{j + 1}
			}
			return []int{i}
		}
	}
	return nil
}
