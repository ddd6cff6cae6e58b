package lexical

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// add remembers an import by its path. It may be one of a library, which then is what a thing
// is taken for that is called redis.
func (w *walker) add(from string) (value, bool) {
	w.steps++
	w.foreign(from)
	name, ok := w.d.imports(w, from)
	if !ok {
		return value{}, false
	}
	s := w.d.shapes[name]
	if s == nil {
		return value{}, true
	}
	return value{shape: s, known: true}, true
}

// guessing sets what a thing is taken for that is called redis; the first import decides.
func (w *walker) guessing(shape string) {
	if w.guess == nil {
		w.guess = w.d.shapes[shape]
	}
}

// imported reports whether a name that is used here is from one of these packages.
func (w *walker) imported(name string, from []string) bool {
	if full, ok := w.names[name]; ok {
		return prefixed(full, from)
	}
	if slices.Contains(from, "") {
		return true
	}
	for _, whole := range w.paths {
		if prefixed(whole, from) {
			return true
		}
	}
	return false
}

func prefixed(path string, from []string) bool {
	for _, p := range from {
		if p != "" && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// importing looks at an import, and returns where it ends; i if it is none.
func (w *walker) importing(i, end int) int {
	switch w.d.lang {
	case Python:
		return w.importPython(i, end)
	case JS:
		if w.is(i, "import") {
			return w.importJS(i, end)
		}
	case Java, Kotlin:
		if w.is(i, "import") || w.is(i, "package") {
			return w.importJava(i, end)
		}
	case CSharp:
		if w.is(i, "using") || w.is(i, "namespace") {
			return w.importCSharp(i, end)
		}
	case PHP:
		if w.is(i, "use") && !w.is(i+1, "(") || w.is(i, "namespace") {
			return w.importPHP(i, end)
		}
	case Go:
		if w.is(i, "import") {
			return w.importGo(i, end)
		}
		if w.is(i, "package") {
			return i + 2
		}
	case Ruby:
		if w.is(i, "require_relative") {
			return i + 2
		}
	}
	return i
}

// dotted reads a.b.c, and returns where it ends.
func (w *walker) dotted(i, end int) (string, int) {
	var b strings.Builder
	for i < end && (w.at(i).kind == word || w.is(i, ".") || w.is(i, "...")) && !(b.Len() > 0 && w.at(i).space && w.at(i).kind == word) {
		b.WriteString(w.at(i).text)
		i++
		if w.at(i).nl {
			break
		}
	}
	return b.String(), i
}

func (w *walker) importPython(i, end int) int {
	if w.is(i, "from") {
		from, j := w.dotted(i+1, end)
		if !w.is(j, "import") {
			return i
		}
		lib, ok := w.add(from)
		j++
		stop := j
		var after int
		if w.is(j, "(") {
			after = min(w.at(j).match+1, end)
			stop = after - 1
			j++
		} else {
			for stop < end && !w.at(stop).nl {
				stop++
			}
			after = stop
		}
		for j < stop {
			comma := w.comma(j, stop)
			if w.at(j).kind == word {
				name, as := w.at(j).text, w.at(j).text
				if w.is(j+1, "as") {
					as = w.at(j + 2).text
				}
				switch sub, isLib := w.add(from + "." + name); {
				case ok && lib.shape != nil:
					if v := w.taken(lib, name); v.shape != nil {
						w.bind(as, v)
					} else if isLib {
						w.bind(as, sub)
					} else {
						w.bind(as, nothing)
					}
				case isLib:
					w.bind(as, sub)
				case w.callsItRedis(as) || ownRedis.MatchString(from[strings.LastIndexByte(from, '.')+1:]):
					w.guessing("client")
				case others.MatchString(from):
					w.bind(as, nothing)
				}
			}
			j = comma + 1
		}
		return after
	}
	if !w.is(i, "import") {
		return i
	}
	for j := i + 1; j < end; {
		from, next := w.dotted(j, end)
		if next == j {
			return j
		}
		lib, ok := w.add(from)
		as := strings.SplitN(from, ".", 2)[0]
		if w.is(next, "as") {
			as = w.at(next + 1).text
			next += 2
		} else if strings.Contains(from, ".") {
			lib, ok = w.add(as)
		}
		switch {
		case ok && lib.shape != nil:
			w.bind(as, lib)
		case !ok && from != "" && !w.callsItRedis(as):
			w.bind(as, nothing)
		}
		if !w.is(next, ",") {
			return next
		}
		j = next + 1
	}
	return end
}

// ownRedis is how a module of one's own is called that exports a client.
var ownRedis = regexp.MustCompile(`(?i)(?:^|[/.\-_])(?:io)?redis` +
	`(?:[-_.]?(?:client|conn|connection|db|cache|instance|service|provider|factory|adapter|module|` +
	`pubsub|store|manager|helper|utils?)){0,2}` +
	`(?:\.[jt]s)?$`)

func (w *walker) importJS(i, end int) int {
	stop := i + 1
	for ; stop < end && stop < i+200; stop++ {
		tok := w.at(stop)
		if tok.kind == text || tok.kind == sign && (tok.text == ";" || tok.text == "=") || tok.kind == open && tok.text == "(" {
			break
		}
		if tok.kind == open {
			stop = tok.match
		}
	}
	if w.is(stop, "=") { // import X = require("x")
		v, next := w.expr(stop+1, end)
		w.bind(w.at(i+1).text, v)
		return next
	}
	if w.at(stop).kind != text {
		return i
	}
	from := w.at(stop).text
	lib, ok := w.add(from)
	own := !ok && strings.HasPrefix(from, ".") || strings.HasPrefix(from, "@/") || strings.HasPrefix(from, "~")
	for j := i + 1; j < stop; j++ {
		tok := w.at(j)
		switch {
		case tok.kind == word && (tok.text == "from" || tok.text == "type" && w.at(j+1).kind == word):
		case w.is(j, "*") && w.is(j+1, "as"):
			if ok {
				w.bind(w.at(j+2).text, lib)
			}
			j += 2
		case tok.kind == word:
			switch {
			case ok:
				v := lib
				if st, has := lib.shape.step("default"); has {
					v = value{shape: w.d.shapes[st.to], class: st.class, known: true}
				}
				w.bind(tok.text, v)
			case own:
				w.exported(from, tok.text)
			default:
				w.elsewhere(from, tok.text)
			}
		case tok.kind == open:
			for k := j + 1; k < tok.match; {
				comma := w.comma(k, tok.match)
				if w.is(k, "type") && w.at(k+1).kind == word {
					k++
				}
				name, as := w.at(k).text, w.at(k).text
				if w.is(k+1, "as") {
					as = w.at(k + 2).text
				}
				switch {
				case ok:
					w.bind(as, w.taken(lib, name))
				case own:
					w.exported(from, as)
				default:
					w.elsewhere(from, as)
				}
				k = comma + 1
			}
			j = tok.match
		}
	}
	return stop + 1
}

// exported looks at a name that a module of one's own exports: a client, if both are called so.
func (w *walker) exported(from, name string) {
	base := path.Base(from)
	switch {
	case ownRedis.MatchString(base) && w.nameFits(name) && plainClient.MatchString(name):
		w.guessing("client")
		w.bind(name, value{shape: w.guess})
	case w.callsItRedis(name):
		w.guessing("client")
	}
}

// callsItRedis reports whether a name is that of a client.
func (w *walker) callsItRedis(name string) bool {
	return clientName.MatchString(name) && !otherName.MatchString(name) && w.nameFits(name)
}

// elsewhere remembers a name that a package gives which is none of Redis.
func (w *walker) elsewhere(from, name string) {
	if !strings.HasPrefix(from, ".") && !strings.HasPrefix(from, "@/") && !strings.HasPrefix(from, "~") &&
		!strings.Contains(strings.ToLower(from+name), "redis") {
		w.bind(name, nothing)
	}
}

var plainClient = regexp.MustCompile(`^(?:client|conn|connection|db|pub|sub|publisher|subscriber|pubClient|subClient)$`)

// required looks at require("x").
func (w *walker) required(i int) value {
	tok := w.at(i + 1)
	if tok.kind != text {
		return value{}
	}
	lib, ok := w.add(tok.text)
	if ok {
		return lib
	}
	if strings.HasPrefix(tok.text, ".") {
		if ownRedis.MatchString(path.Base(tok.text)) {
			w.guessing("client")
		}
		return value{}
	}
	return nothing
}

func (w *walker) importJava(i, end int) int {
	j := i + 1
	if w.is(j, "static") {
		j++
	}
	from, next := w.dotted(j, end)
	if w.is(next, "*") {
		next++
		from = strings.TrimSuffix(from, ".") + "."
	}
	w.add(from)
	if w.is(i, "package") || strings.HasSuffix(from, ".") {
		w.paths = append(w.paths, strings.TrimSuffix(from, ".")+".")
		return next
	}
	name := from[strings.LastIndexByte(from, '.')+1:]
	if w.is(next, "as") {
		name = w.at(next + 1).text
		next += 2
	}
	w.names[name] = from
	return next
}

func (w *walker) importCSharp(i, end int) int {
	j := i + 1
	if w.is(j, "static") {
		j++
	}
	alias := ""
	if w.at(j).kind == word && w.is(j+1, "=") && w.is(i, "using") {
		alias = w.at(j).text
		j += 2
	}
	from, next := w.dotted(j, end)
	if !w.is(next, ";") && !(w.is(i, "namespace") && w.is(next, "{")) || from == "" {
		return i
	}
	w.add(from)
	if alias != "" {
		w.names[alias] = from
		if c, ok := w.d.classes[from[strings.LastIndexByte(from, '.')+1:]]; ok {
			w.bind(alias, value{shape: w.d.shapes[c.shape], class: true, known: true})
		}
		return next
	}
	w.paths = append(w.paths, from+".")
	return next
}

func (w *walker) importPHP(i, end int) int {
	if w.is(i, "namespace") {
		w.own(w.at(i + 1).text)
		return i + 2
	}
	for j := i + 1; j < end && w.at(j).kind == word; {
		from := w.at(j).text
		j++
		if w.is(j, "\\") || w.at(j).kind == open { // use A\{B, C as D}
			for w.at(j).kind == sign {
				j++
			}
			for k := j + 1; w.at(j).kind == open && k < w.at(j).match; k++ {
				if w.at(k).kind == word && !w.is(k, "as") && !w.is(k-1, "as") {
					w.usePHP(from+`\`+w.at(k).text, k+1)
				}
			}
			return min(w.at(j).match+1, end)
		}
		j = w.usePHP(from, j)
		if !w.is(j, ",") {
			return j
		}
		j++
	}
	return i + 1
}

func (w *walker) usePHP(from string, j int) int {
	name := from[strings.LastIndexByte(from, '\\')+1:]
	if w.is(j, "as") {
		name = w.at(j + 1).text
		j += 2
	}
	w.add(from)
	w.names[name] = from
	if v, ok := w.classNamed(from); ok {
		w.bindIn(w.scopes[0], name, v)
	}
	return j
}

func (w *walker) importGo(i, end int) int {
	one := func(j int) int {
		name := ""
		if w.at(j).kind == word {
			name = w.at(j).text
			j++
		}
		if w.at(j).kind != text {
			return j + 1
		}
		if lib, ok := w.add(w.at(j).text); ok {
			if name == "" {
				name = "redis"
				for part := range strings.SplitSeq(w.at(j).text, "/") {
					if strings.HasPrefix(part, "radix") || part == "rueidis" || part == "valkey-go" {
						name = strings.TrimSuffix(part, "-go")
					}
				}
			}
			w.bind(name, lib)
		}
		return j + 1
	}
	if !w.is(i+1, "(") {
		return one(i + 1)
	}
	stop := w.at(i + 1).match
	for j := i + 2; j < stop; {
		j = one(j)
	}
	return min(stop+1, end)
}
