package lexical

import (
	"path"
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
	if tok := s.at(j); tok.kind == clos && (tok.text == "}" || tok.text == "]") && tok.match >= 0 && s.lang.id == JS {
		s.destructure(tok.match, j, i)
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
		if c := s.classAround(s.in[i]); c > b.region {
			b.region = c
		}
		if s.globals[name.text] || strings.HasPrefix(name.text, "$") && s.lang.id == Ruby {
			b.region = 0
		}
	case declares[s.at(j-1).text] || s.typeBefore(j) > 0 || s.is(i, ":="):
	default:
		b.loose = true
	}
	if n := s.elements(j); n > 0 && s.lang.hoists { // a, b = x, y
		if next := s.element(i+1, n); next > 0 {
			b.values = []int{next}
		}
	}
	if from := s.typeBefore(j); from > 0 {
		b.typed = [2]int{from, j}
	}
	if s.blocks[s.in[i]].class {
		b.field = true
	}
	s.bind(name.text, b)
}

// elements counts the names before one in a list that is assigned to.
func (s *scanner) elements(j int) (n int) {
	for ; n < 6 && s.is(j-1, ",") && s.at(j-2).kind == word; j -= 2 {
		n++
	}
	return n
}

// element is the n-th of a list of expressions, 0 if there are fewer.
func (s *scanner) element(i, n int) int {
	for end := i + maxLook; i < end && i < len(s.all); i++ {
		tok := s.at(i)
		switch {
		case tok.kind == open:
			i = tok.match
		case tok.kind == clos, tok.nl:
			return 0
		case tok.text == ",":
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return 0
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
	if !declares[s.at(from-1).text] {
		b.loose = true
	}
	if s.is(to, "]") {
		b.values = nil
	}
	for i := from + 1; i < to && i < from+maxLook; i++ {
		if s.at(i).kind == word && (s.is(i+1, ",") || s.is(i+1, "}") || s.is(i+1, "=") || s.is(i+1, "]")) {
			name, bound := s.at(i).text, b
			source := name
			if s.is(i-1, ":") {
				source = s.at(i - 2).text
			}
			if s.is(at+1, "this") {
				bound.values = nil
				if f := s.names[source]; len(f) > 0 {
					bound.values = f[0].values
				}
			}
			s.taken[at+1] = append(s.taken[at+1], name)
			s.bind(name, bound)
			s.sources[name] = source
		}
	}
}

// typeBefore is where a type begins that stands before a name, 0 if there is none: as in
// «Type<A> name».
func (s *scanner) typeBefore(j int) int {
	if !s.lang.typeFirst {
		return 0
	}
	k := j - 1
	for n := 0; n < 3 && (s.is(k, "?") || s.is(k, "]") || s.is(k, "[") || s.is(k, "&") || s.is(k, "...")); n++ {
		k--
	}
	if s.is(k, ">") {
		depth := 0
		for n := 0; n < 30 && k > 0; n++ {
			switch {
			case s.is(k, ">"):
				depth++
			case s.is(k, ">="):
				return 0
			case s.is(k, "<"):
				depth--
			case s.at(k).kind == text, s.is(k, ";"), s.is(k, "="), s.is(k, "("), s.is(k, ")"):
				return 0
			}
			k--
			if depth == 0 {
				break
			}
		}
	}
	if s.at(k).kind != word || notNames[s.at(k).text] && !opaque[s.at(k).text] {
		return 0
	}
	for s.is(k-1, ".") && s.at(k-2).kind == word {
		k -= 2
	}
	if s.member(k - 1) {
		return 0
	}
	if s.lang.id == PHP && !strings.HasPrefix(s.at(j).text, "$") {
		return 0
	}
	return k
}

// typed binds a name with a declared type: Type name, or name: Type.
func (s *scanner) typed(i int) {
	tok := s.at(i)
	if notNames[tok.text] {
		return
	}
	next := s.at(i + 1)
	b := binding{at: i, region: s.in[i], field: s.blocks[s.in[i]].class}
	if s.lang.typeFirst {
		from := s.typeBefore(i)
		if from <= 0 || s.at(i).nl && s.lang.id != CSharp {
			return
		}
		b.typed = [2]int{from, i}
		switch {
		case next.text == "=" && next.kind == sign:
			return // an assignment
		case next.kind == open && next.text == "(" || next.text == "<" && s.lang.id == CSharp:
			if !s.blocks[s.in[i]].class && s.in[i] != 0 && s.is(from-1, "new") {
				return
			}
			b.fn = true
		case next.kind == open && next.text == "{" && s.lang.id == CSharp:
			b.field = true
		case next.kind == sign && (next.text == ";" || next.text == "," || next.text == ":" || next.text == "=>"), next.kind == clos,
			next.kind == word && next.text == "in":
		default:
			return
		}
		if next.text == ":" || next.text == "in" && next.kind == word { // for (Type x : all)
			if up := s.up[i]; up < 0 || !s.is(up, "(") {
				return
			}
		}
		if p := s.promoted(i); p {
			b.field, b.region = true, s.classAround(s.in[i])
		}
		s.bind(tok.text, b)
		return
	}
	if s.lang.id == Go {
		s.typedGo(i, b)
		return
	}
	j := i + 1
	if s.is(j, "?") || s.is(j, "!") {
		j++
	}
	if !s.is(j, ":") || s.lang.id == Ruby || s.at(j+1).nl {
		return
	}
	if before := s.at(i - 1); !(before.kind == open && before.text != "${" || before.text == "," || before.text == ";" || s.at(i).nl ||
		before.kind == word && s.lang.id != Python || before.text == "*" || before.kind == clos && before.text != "]" ||
		before.text == ">") {
		return
	}
	end := s.endOfType(j + 1)
	if end == j+1 {
		return
	}
	b.typed = [2]int{j + 1, end}
	if s.is(end, "=") && s.lang.id != JS || s.is(end, "=") && s.lang.id == JS {
		b.values = []int{end + 1}
	}
	if s.is(end, "by") && s.is(end+1, "lazy") {
		b.values = []int{end + 3}
	}
	if s.promoted(i) {
		b.field, b.region = true, s.classAround(s.in[i])
	}
	if s.lang.id == Python && !s.isParam(i) {
		b.region = max(s.function(i), s.classAround(s.in[i]))
	}
	s.bind(tok.text, b)
}

// promoted reports whether a parameter is a field as well: private name: Type.
func (s *scanner) promoted(i int) bool {
	b := s.blocks[s.in[i]]
	if !s.isParam(i) {
		return false
	}
	if b.class {
		return true
	}
	for j := i - 1; j > i-8 && j >= b.params[0]; j-- {
		if s.is(j, "private") || s.is(j, "public") || s.is(j, "protected") || s.is(j, "readonly") {
			return true
		}
		if s.is(j, ",") {
			return false
		}
	}
	return false
}

// typedGo binds «name pkg.Type».
func (s *scanner) typedGo(i int, b binding) {
	before := s.at(i - 1)
	if !s.at(i).nl && before.text != "(" && before.text != "," && before.text != "var" || s.at(i+1).nl {
		return
	}
	j := i + 1
	for n := 0; n < 4 && (s.is(j, "*") || s.is(j, "[") || s.is(j, "]") || s.is(j, "...")); n++ {
		j++
	}
	if s.at(j).kind != word || s.at(j).nl || notNames[s.at(j).text] {
		return
	}
	end := j + 1
	if s.is(end, ".") {
		end += 2
	}
	if next := s.at(end); !(next.nl || next.kind == clos || next.text == "," || next.text == "=" || next.text == "{" || next.text == "(") ||
		s.is(end, "(") {
		return
	}
	b.typed = [2]int{j, end}
	b.field = !s.isParam(i)
	if b.field {
		b.region = 0
	}
	s.bind(s.at(i).text, b)
}

var inTypes = words(". | ? ::")

// endOfType is where the type ends that begins at a token.
func (s *scanner) endOfType(i int) int {
	depth := 0
	for j := i; j < i+40 && j < len(s.all); j++ {
		tok := s.at(j)
		switch {
		case tok.kind == text && (s.lang.id == Python || depth > 0), tok.kind == sign && inTypes[tok.text], tok.text == "*" && depth > 0:
		case tok.kind == word && (!notNames[tok.text] || opaque[tok.text] || tok.text == "readonly" || tok.text == "typeof"):
			if j > i && tok.nl && depth == 0 && !s.is(j-1, "|") && !s.is(j-1, ".") {
				return j
			}
			if j > i && s.at(j-1).kind == word && !s.is(j-1, "readonly") && !s.is(j-1, "typeof") {
				return j
			}
		case tok.kind == open && tok.text == "[":
			j = tok.match
		case tok.kind == open && depth > 0:
			j = tok.match
		case tok.text == "<":
			depth++
		case tok.text == ">":
			depth--
			if depth == 0 {
				return j + 1
			}
		case tok.text == "," && depth > 0:
		default:
			return j
		}
	}
	return i
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
			if tok.nl && (tok.text == "with" || tok.text == "async") {
				break
			}
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
		if end := b.params[1]; b.params[0] > 0 && s.is(end, ")") { // (…): Type, (…) -> Type, (…) Type {
			switch {
			case s.is(end+1, ":") && s.lang.id != Python, s.is(end+1, "->"):
				r.typed = [2]int{end + 2, s.endOfType(end + 2)}
			case s.lang.id == Go && s.at(end+1).kind == word:
				r.typed = [2]int{end + 1, end + 4}
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
			if s.typeBefore(i) <= 0 || s.lang.id == JS {
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

// imports binds the names that an import brings in.
func (s *scanner) imports(i int) {
	tok := s.at(i)
	switch {
	case s.lang.id == JS && tok.text == "import" && !s.is(i+1, "("):
		s.importJS(i)
	case s.lang.id == Python && tok.text == "from" && (tok.nl || s.is(i-1, ";")):
		from, j := s.dotted(i + 1)
		if !s.is(j, "import") {
			return
		}
		end := j + 1
		if s.is(end, "(") {
			end = s.at(end).match
		} else {
			for end < len(s.all) && !s.at(end).nl {
				end++
			}
		}
		for k := j + 1; k < end && k < j+maxLook*4; k++ {
			if s.at(k).kind == word && (s.is(k-1, ",") || s.is(k-1, "(") || k == j+1) {
				as := k
				if s.is(k+1, "as") {
					as = k + 2
				}
				s.imported(from, s.at(k).text, as)
			}
		}
	case s.lang.id == Python && tok.text == "import" && (tok.nl || s.is(i-1, ";") || s.is(i-1, ":")):
		for j := i + 1; j < len(s.all); {
			from, next := s.dotted(j)
			if next == j {
				return
			}
			as := j
			if s.is(next, "as") {
				as = next + 1
				next += 2
			}
			s.imported(from, "", as)
			if !s.is(next, ",") {
				return
			}
			j = next + 1
		}
	case (s.lang.id == Java || s.lang.id == Kotlin) && tok.text == "import" && tok.nl,
		s.lang.id == CSharp && tok.text == "using" && !s.is(i+1, "var") && !s.is(i+1, "("),
		s.lang.id == PHP && tok.text == "use" && !s.is(i+1, "("):
		s.importDotted(i + 1)
	case s.lang.id == Ruby && (tok.text == "require" || tok.text == "require_relative") && s.at(i+1).kind == text:
		s.imported(s.at(i+1).text, "", -1)
	case s.lang.id == Go && tok.text == "import" && tok.nl:
		end := i + 3
		if s.is(i+1, "(") {
			end = s.at(i + 1).match
		}
		for j := i + 1; j < end && j < len(s.all); j++ {
			if s.at(j).kind == text {
				as := -1
				if s.at(j-1).kind == word && !s.is(j-1, "import") {
					as = j - 1
				}
				s.imported(s.at(j).text, "", as)
			}
		}
	case s.lang.id == Python && tok.text == "global":
		for j := i + 1; s.at(j).kind == word && !s.at(j).nl; j += 2 {
			s.globals[s.at(j).text] = true
		}
	}
}

// importDotted binds an import of Java, Kotlin, C# or PHP.
func (s *scanner) importDotted(i int) {
	as := -1
	if s.is(i, "static") || s.is(i, "function") {
		i++
	}
	if s.is(i+1, "=") { // using A = B.C;
		as = i
		i += 2
	}
	from, next := s.dotted(i)
	if from == "" {
		return
	}
	if s.lang.id == PHP && s.at(next).text == `\` && s.is(next+1, "{") { // use A\{B, C as D}
		for j := next + 2; j < s.at(next+1).match && j < next+maxLook; j++ {
			if s.at(j).kind == word && !s.is(j, "as") && !s.is(j-1, "as") {
				s.imported(from+`\`+s.at(j).text, "", j)
			}
		}
		return
	}
	switch {
	case s.is(next, "*"):
		s.imported(strings.TrimSuffix(from, ".")+".*", "", -1)
		return
	case s.is(next, "as"):
		as = next + 1
	case as < 0 && s.lang.id != CSharp:
		as = next - 1
	}
	s.imported(from, "", as)
}

// dotted reads a.b.c, and returns where it ends.
func (s *scanner) dotted(i int) (string, int) {
	var b strings.Builder
	for start := i; i < start+40; i++ {
		tok := s.at(i)
		part := s.is(i, ".") || s.is(i, "...") || tok.kind == word && tok.text != "import" && (i == start || s.at(i-1).kind == sign)
		if !part || tok.nl && i > start {
			break
		}
		b.WriteString(tok.text)
	}
	return b.String(), i
}

// importJS binds import a, { b as c } from "p".
func (s *scanner) importJS(i int) {
	end := i + 1
	for ; end < i+200 && end < len(s.all); end++ {
		if tok := s.at(end); tok.kind == text || tok.text == ";" || tok.text == "=" {
			break
		}
	}
	if s.at(end).kind != text {
		return
	}
	from := s.at(end).text
	s.imported(from, "", -1)
	for j := i + 1; j < end; j++ {
		if s.at(j).kind == word && (s.is(j+1, ",") || s.is(j+1, "}") || s.is(j+1, "from")) && !s.is(j, "from") {
			name := ""
			switch {
			case s.is(j-1, "as") && s.at(j-2).kind == word:
				name = s.at(j - 2).text
			case s.up[j] >= 0:
				name = s.at(j).text
			}
			s.imported(from, name, j)
		}
	}
}

// imported binds the name at a token to an import: the path, and the name there.
func (s *scanner) imported(from, name string, as int) {
	lib := libraryOf(s.lang.id, from)
	if s.lang.id == Go {
		lib = goLibrary(from)
	}
	local := name
	if local == "" {
		local = "_"
	}
	if as >= 0 {
		local = s.at(as).text
	}
	last := name
	if last == "" {
		last = from[strings.LastIndexAny(from, `./\`)+1:]
	}
	var v value
	own := ownModule.MatchString(from)
	switch {
	case lib != nil:
		s.libs = append(s.libs, lib)
		s.found = true
		v = s.classNamed(lib, last)
	case redisModule.MatchString(path.Base(strings.NewReplacer(".", "/", `\`, "/").Replace(from))) && !accessory.MatchString(last) &&
		(saysRedis(local) || connectionName.MatchString(local) || s.lang.id == JS && name == ""), saysRedis(local):
		s.found = true
		v = value{role: client, lib: s.library(), class: local[0] >= 'A' && local[0] <= 'Z', name: last}
	case s.lang.id == Python && name != "" && !rivals.MatchString(from), own, s.lang.id == PHP, s.lang.id == CSharp:
		v = value{name: local}
	default:
		v = value{role: other, class: true}
	}
	if !own && rivals.MatchString(from) {
		s.rivals = true
		v.role = other
	}
	s.paths[last] = from
	if s.lang.id == Go && as < 0 {
		local = goName(from)
	} else if as < 0 {
		return
	}
	if s.lang.id == PHP && v.role == unknown || s.lang.id == CSharp && v.role == unknown {
		return
	}
	s.bind(local, binding{at: 0, fixed: &v})
}

// classNamed is an export of a library.
func (s *scanner) classNamed(lib *library, name string) value {
	v := value{role: client, lib: lib, sure: true, class: true, name: name}
	if r, ok := classRole(s.lang.id, name); ok {
		v.role = r
	}
	if lib.title == "the queue" && v.role == client {
		v.role = queue
	}
	if s.lang.id != JS && lib.title != "the queue" && v.role == queue {
		v.role = client
	}
	return v
}
