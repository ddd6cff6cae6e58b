package lexical

import "strings"

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
			b.fn = true
		case next.kind == sign && (next.text == ";" || next.text == "," || next.text == ":" || next.text == "=>"), next.kind == clos,
			next.kind == open && next.text == "{" && s.lang.id == CSharp, next.kind == word && next.text == "in":
		default:
			return
		}
		if s.promoted(i) {
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
	if s.is(end, "=") {
		b.values = []int{end + 1}
	}
	if s.promoted(i) {
		b.field, b.region = true, s.classAround(s.in[i])
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

// className is a class by its name, or by its import.
func (s *scanner) className(name string) value {
	if last := strings.LastIndexByte(name, '\\'); last >= 0 { // of PHP: a name that needs no import
		if lib := libraryOf(s.lang.id, strings.TrimPrefix(name, `\`)); lib != nil {
			return s.classNamed(lib, name[last+1:])
		}
		name = name[last+1:]
	}
	path, imported := s.paths[name]
	if imported && path != name {
		if lib := libraryOf(s.lang.id, path); lib == nil && !ownModule.MatchString(path) && !saysRedis(name) {
			return value{role: other, class: true}
		}
	}
	if r, ok := classRole(s.lang.id, name); ok && (!shared[name] || len(s.libs) > 0 && (s.lang.wildcards || imported)) {
		return value{role: r, lib: s.library(), sure: r != other, class: true, name: name}
	}
	if s.lang.id == PHP && strings.EqualFold(name, "redis") {
		return value{role: client, lib: s.library(), sure: true, class: true, name: name}
	}
	for i := range s.blocks { // a class of the file that is derived from one
		b := &s.blocks[i]
		if b.class && b.name == name && i < maxBindings {
			if v := s.base(b); v.redis() {
				v.class = true
				return v
			}
		}
	}
	if len(name) > 0 && name[0] >= 'A' && name[0] <= 'Z' && saysRedis(name) && s.lang.id != Go {
		return value{role: client, lib: s.library(), class: true, name: name}
	}
	return value{}
}

// base is the client that a class is derived from.
func (s *scanner) base(b *block) value {
	switch {
	case b.base != nil:
		return *b.base
	case s.depth >= maxDepth:
		return value{}
	}
	b.base = &value{}
	s.depth++
	defer func() { s.depth-- }()
	for _, name := range b.bases {
		if name == b.name {
			continue
		}
		if v := s.lookup(name, b.from-1); v.class && (v.role == client || v.role == container) {
			v.class = false
			b.base = &v
			return v
		}
	}
	return value{}
}

// typeValue is the value of a type.
func (s *scanner) typeValue(from, to int) value {
	v := value{role: other}
	seen, wrapped := false, false
	for i := from; i < to && i < from+40; i++ {
		tok := s.at(i)
		names := []string{tok.text}
		if tok.kind == text { // "redis.Redis"
			names = strings.FieldsFunc(tok.text, func(r rune) bool { return r > 127 || !part(byte(r)) })
		} else if tok.kind != word {
			continue
		}
		for _, name := range names {
			if opaque[name] || len(name) == 1 {
				if !seen {
					v = value{}
				}
				continue
			}
			if name == "readonly" || name == "typeof" {
				continue
			}
			if wrappers[name] && (s.is(i+1, "<") || s.is(i+1, "[")) {
				wrapped = true
				v = value{}
				continue
			}
			if s.is(i+1, ".") && i+2 < to && tok.kind == word { // a.B: by its last word, or its first
				if w := s.lookup(name, i); w.redis() {
					seen, v = true, w
				}
				continue
			}
			w := s.lookupType(name, i)
			if w.redis() && (!seen || wrapped || w.sure) && (!seen || !strings.Contains(collections, " "+s.at(from).text+" ")) {
				if r, ok := classRole(s.lang.id, name); ok && w.sure {
					w.role = r
				}
				w.class = true
				return w
			}
			if !seen {
				v = value{role: other}
			}
			seen = true
		}
		if seen && v.redis() && !s.is(i+1, ".") {
			return v
		}
	}
	return v
}

const collections = " Map List Set Dictionary IDictionary Collection IEnumerable Array HashMap ConcurrentHashMap ConcurrentDictionary ILogger Logger " +
	"IOptions Action Func Consumer Function Callable "

// lookupType is the value of the name of a type.
func (s *scanner) lookupType(name string, at int) value {
	name = strings.TrimPrefix(name, `\`)
	for _, b := range s.names[name[strings.LastIndexByte(name, '\\')+1:]] {
		if b.fixed != nil {
			return *b.fixed
		}
	}
	if !s.lang.typeFirst && len(s.names[name]) > 0 {
		if v := s.lookup(name, at); v.redis() && v.class {
			return v
		}
	}
	if v := s.className(name); v.role != unknown {
		return v
	}
	return value{role: other}
}
