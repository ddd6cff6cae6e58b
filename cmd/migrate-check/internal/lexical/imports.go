package lexical

import (
	"path"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

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
		local = s.at(as).text[strings.LastIndexByte(s.at(as).text, '\\')+1:] // in PHP, a path is one token
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
	case redisModule.MatchString(from) && s.lang.id != Go && !accessory.MatchString(last) && connectionName.MatchString(local),
		redisModule.MatchString(path.Base(strings.NewReplacer(".", "/", `\`, "/").Replace(from))) && !accessory.MatchString(last) &&
			s.lang.id == JS && name == "", saysRedis(local):
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
	return v
}

// required is the value of require("p").
func (s *scanner) required(from string) value {
	switch lib := libraryOf(JS, from); {
	case lib != nil:
		return s.classNamed(lib, from[strings.LastIndexByte(from, '/')+1:])
	case redisModule.MatchString(from[strings.LastIndexByte(from, '/')+1:]) && !accessory.MatchString(from):
		return value{role: client, lib: s.library()}
	case ownModule.MatchString(from):
		return value{}
	}
	return value{role: other}
}

// goLibrary is the library of an import of Go.
func goLibrary(path string) *library {
	if _, known := rediscalls.LibraryOfPath(path); known {
		return &libraries[len(libraries)-1]
	}
	return nil
}

// goName is the name of an imported package of Go.
func goName(path string) string {
	if goLibrary(path) != nil {
		for part := range strings.SplitSeq(path, "/") {
			if strings.HasPrefix(part, "radix") || part == "rueidis" || part == "valkey-go" {
				return strings.TrimSuffix(part, "-go")
			}
		}
		return "redis"
	}
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && digit(last[1]) {
		last = parts[len(parts)-2]
	}
	return strings.TrimSuffix(last, ".go")
}
