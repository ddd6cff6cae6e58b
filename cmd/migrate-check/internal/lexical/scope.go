package lexical

import (
	"regexp"
	"slices"
	"strings"
)

// scope has the names that are declared in a block.
type scope struct {
	vars   map[string]value
	class  string // the class whose body it is
	body   bool   // it is the body of a class, or the file: it lasts
	fn     string // the function whose body it is
	isFn   bool
	ret    value // what the function returns
	base   *shape
	column int // where languages with indentation begin it
}

func (w *walker) push() *scope {
	s := &scope{}
	w.scopes = append(w.scopes, s)
	return s
}

func (w *walker) pop() *scope {
	s := w.scopes[len(w.scopes)-1]
	w.scopes = w.scopes[:len(w.scopes)-1]
	return s
}

// lastingScope is the scope of a class, or of the file: it is the same whenever the file is
// walked through, so that what is declared at its end is known at its beginning.
func (w *walker) lastingScope(class string) *scope {
	s := w.lasting[class]
	if s == nil {
		s = &scope{class: class, body: true}
		w.lasting[class] = s
	}
	return s
}

// bind declares a name in the innermost scope.
func (w *walker) bind(name string, v value) { w.bindIn(w.scopes[len(w.scopes)-1], name, v) }

func (w *walker) bindIn(s *scope, name string, v value) {
	if s.vars == nil {
		s.vars = map[string]value{}
	}
	if old, ok := s.vars[name]; s.body && ok && old.shape != nil && v.shape == nil {
		return // it is set to something else, or to nothing yet
	}
	s.vars[name] = v
}

// assign gives a name a value: where it is declared, or else in the function.
func (w *walker) assign(name string, v value) {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		s := w.scopes[i]
		if _, ok := s.vars[name]; ok {
			w.bindIn(s, name, v)
			return
		}
		if s.isFn && (w.d.lang == Python || w.d.lang == PHP || w.d.lang == Ruby) {
			w.bindIn(s, name, v)
			return
		}
	}
	w.bindIn(w.scopes[0], name, v)
}

// classScope is that of the class that the code is in, or of the file.
func (w *walker) classScope() *scope {
	for i := len(w.scopes) - 1; i > 0; i-- {
		if w.scopes[i].body {
			return w.scopes[i]
		}
	}
	return w.scopes[0]
}

// lookup says what a name is.
func (w *walker) lookup(name string) value {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if v, ok := w.scopes[i].vars[name]; ok {
			return v
		}
	}
	if v, ok := w.classNamed(name); ok {
		return v
	}
	return w.byName(name)
}

// classNamed is a type of a library by its name.
func (w *walker) classNamed(name string) (value, bool) {
	full := ""
	if i := strings.LastIndexByte(name, '\\'); i >= 0 { // with its namespace
		full, name = name, name[i+1:]
	}
	found, ok := w.d.classes[name]
	for c := &found; ok && c != nil; c = c.next {
		if full != "" && prefixed(full, c.from) || full == "" && w.imported(name, c.from) {
			return value{shape: w.d.shapes[c.shape], class: true, known: true}, true
		}
	}
	return value{}, false
}

// field says what a field of this object is.
func (w *walker) field(name string) value {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if !w.scopes[i].body {
			continue
		}
		for _, key := range []string{name, "@" + name} {
			if v, ok := w.scopes[i].vars[key]; ok {
				return v
			}
		}
	}
	return w.byName(name)
}

// clientName is how people name a client. A redisKey and a redisConfig are none.
var clientName = regexp.MustCompile(`(?i)^[_@$#]*(?:[a-z]+_?)?p?redis_?` +
	`(?:client|conn|connection|cli|c|db|instance|pub|sub|publisher|subscriber|receiver|emitter|sender|reader|writer|` +
	`template|operations|ops|master|slave|cluster|commands|async|sync)?` +
	`_?\d*$`)

// otherName is what looks like the name of a client and is more often something else.
var otherName = regexp.MustCompile(`(?i)^(?:use|is|has|no|with|enable|disable|to|from|for|mock)_?redis`)

var shortNames = []string{"rdb", "_rdb", "jedis", "@rdb", "$rdb", "REDIS", "$REDIS"}

// byName takes a thing for a client that nothing is known of but its name.
func (w *walker) byName(name string) value {
	if w.guess == nil {
		return value{}
	}
	if s := w.d.shapes["jedis"]; s != nil && strings.EqualFold(name, "jedis") {
		return value{shape: s}
	}
	if slices.Contains(shortNames, name) {
		return value{shape: w.guess}
	}
	if clientName.MatchString(name) && !otherName.MatchString(name) && w.nameFits(name) {
		return value{shape: w.guess}
	}
	return value{}
}

// nameFits reports whether the name is written as that of a variable is: one that begins as
// that of a class is one of the user's own, which may do anything.
func (w *walker) nameFits(name string) bool {
	first := strings.TrimLeft(name, "_@$#")
	return first != "" && (first[0] >= 'a' || strings.ToUpper(name) == name)
}
