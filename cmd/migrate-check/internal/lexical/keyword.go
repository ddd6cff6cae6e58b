package lexical

import "slices"

// particles are words that begin a statement, or stand in one, and mean nothing here.
var particles = map[string]bool{
	"if": true, "elif": true, "elsif": true, "else": true, "while": true, "until": true, "unless": true, "with": true, "try": true,
	"except": true, "finally": true, "do": true, "begin": true, "ensure": true, "rescue": true, "end": true, "then": true, "not": true,
	"and": true, "or": true, "in": true, "is": true, "del": true, "assert": true, "raise": true, "throw": true, "pass": true,
	"break":    true,
	"continue": true, "global": true, "nonlocal": true, "switch": true, "case": true, "when": true, "match": true, "echo": true,
	"print": true,
	"goto":  true, "async": true, "await": true, "export": true, "default": true, "lock": true, "synchronized": true, "foreach": true,
	"catch": true, "checked": true, "unchecked": true, "go": true, "defer": true, "select": true, "instanceof": true, "as": true,
}

// keyword looks at a word that has a meaning of its own at the beginning of a statement.
func (w *walker) keyword(i, end int) (int, bool) {
	tok := w.at(i)
	lang := w.d.lang
	// Behind from, a dot is the package that the file is in.
	if w.member(i+1) && !(lang == Python && tok.text == "from") || w.is(i+1, "=") {
		return 0, false
	}
	switch tok.text {
	case "import", "from", "use", "using", "package", "namespace", "require_relative":
		if next := w.importing(i, end); next > i {
			return next, true
		}
	case "require":
		if lang == Ruby {
			w.add(w.at(i + 1).text)
			return i + 2, true
		}
	case "return", "yield":
		if w.is(i+1, ";") || w.at(i+1).nl || w.is(i+1, "return") {
			return i + 1, true
		}
		v, next := w.expr(i+1, end)
		w.returns(v)
		return max(next, i+1), true
	case "class", "interface", "struct", "object", "trait", "record", "enum", "module":
		if tok.text == "object" && lang != Kotlin || tok.text == "module" && lang != Ruby || w.is(i-1, ".") || lang == Go {
			return 0, false
		}
		return w.classHead(i, end)
	case "def", "function", "func", "fun", "fn":
		if _, next, ok := w.anonymous(i, end); ok {
			return next, true
		}
	case "for":
		if lang == Python || lang == Ruby {
			return w.forIn(i, end), true
		}
		return i + 1, true
	case "end":
		w.lastRet = value{}
	}
	if particles[tok.text] && !(w.is(i+1, "(") && (tok.text == "match" || tok.text == "print" || tok.text == "select")) {
		return i + 1, true
	}
	return 0, false
}

// forIn looks at a loop over elements: they are what the list is of.
func (w *walker) forIn(i, end int) int {
	for j := i + 1; j < end && j < i+12; j++ {
		if w.is(j, "in") {
			v, next := w.expr(j+1, end)
			for k := i + 1; k < j; k++ {
				if w.at(k).kind == word {
					w.assign(w.at(k).text, value{shape: v.shape, known: v.shape != nil, origin: v.origin})
				}
			}
			return max(next, j+1)
		}
	}
	return i + 1
}

// classHead looks at the head of a class.
func (w *walker) classHead(i, end int) (int, bool) {
	j := i + 1
	if w.is(j, "<<") || w.is(j, "class") || w.is(j, "struct") {
		return j + 1, true
	}
	if w.at(j).kind != word {
		if w.is(i, "object") && w.is(j, ":") { // of Kotlin, without a name
			return j + 1, true
		}
		return i + 1, w.at(j).kind == open && w.is(i, "class")
	}
	name := w.at(j).text
	if (name == "extends" || name == "implements") && w.d.lang == JS {
		name = "class"
		j--
	}
	for w.d.lang == Ruby && w.is(j+1, "::") {
		j += 2
		name = w.at(j).text
	}
	j = w.generic(j + 1)
	if !w.braces() {
		return w.classLine(i, j, name, end), true
	}
	w.class, w.base, w.params = name, nil, nil
	var params []param
	from := j
	for j < end && !w.is(j, "{") && !w.is(j, ";") && j < i+400 {
		if w.at(j).kind == open {
			if w.is(j, "(") && (w.d.lang == Kotlin || w.d.lang == CSharp) && params == nil {
				params = append([]param{{name: "\x00"}}, w.parameters(j, false)...)
				from = w.at(j).match + 1
			} else if w.is(j, "(") {
				w.arguments(j, end)
			}
			j = w.at(j).match
		} else if w.at(j).nl && w.d.lang == Kotlin && !w.is(j, ":") && !w.is(j, ",") && j > from && !w.is(j-1, ",") && !w.is(j-1, ":") {
			break
		}
		j++
	}
	if v, ok := w.typeOf(from, min(j, end)); ok {
		w.base = v.shape
	} else {
		w.own(name)
	}
	if v, ok := w.typeOf(from, min(j, end)); ok {
		w.bindIn(w.scopes[0], name, value{shape: v.shape, class: true, known: true})
		if st, ok := v.shape.step(":"); ok { // to derive from it is to do something
			w.does(&call{walker: w, recv: v, name: v.shape.title, pos: i + 1}, st)
		}
	}
	w.params = params
	if !w.is(j, "{") {
		w.class, w.base, w.params = "", nil, nil
	}
	return min(j, end), true
}

// classLine looks at the head of a class where no braces are.
func (w *walker) classLine(i, j int, name string, end int) int {
	column := w.lineColumn(i)
	var base *shape
	next := j
	if w.is(j, "(") {
		next = min(w.at(j).match+1, end)
		if v, ok := w.typeOf(j+1, w.at(j).match); ok {
			base = v.shape
		}
	} else if w.is(j, "<") {
		next = j + 1
		for next < end && !w.at(next).nl {
			next++
		}
		if v, ok := w.typeOf(j+1, next); ok {
			base = v.shape
		}
	}
	if base != nil {
		w.bindIn(w.scopes[0], name, value{shape: base, class: true, known: true})
	} else if w.is(i, "class") {
		w.own(name)
	}
	s := w.lastingScope(name)
	s.base, s.column = base, column
	w.scopes = append(w.scopes, s)
	return next
}

// own remembers that a class is one of the file: it is none of a library's.
func (w *walker) own(name string) {
	if _, ok := w.scopes[0].vars[name]; !ok {
		w.bindIn(w.scopes[0], name, nothing)
	}
}

// lineColumn is the column of the first token of the line that token i is on.
func (w *walker) lineColumn(i int) int {
	for j := i; j > i-6; j-- {
		if w.at(j).nl {
			return w.column(j)
		}
	}
	return w.column(i)
}

// anonymous looks at a function that begins with a keyword, with a name or without.
func (w *walker) anonymous(i, end int) (value, int, bool) {
	j := i + 1
	lang := w.d.lang
	if lang == JS && w.is(j, "*") {
		j++
	}
	if lang == PHP && w.is(j, "&") {
		j++
	}
	var receiver []param
	if lang == Go && w.is(j, "(") && w.at(w.at(j).match+1).kind == word && w.is(w.at(j).match+2, "(") {
		receiver = w.parameters(j, false)
		j = w.at(j).match + 1
	}
	if lang == Kotlin {
		j = w.generic(j)
		for w.at(j).kind == word && (w.is(j+1, ".") || w.is(j+1, "?.")) {
			j += 2
		}
	}
	if lang == Ruby && w.is(j, "self") && w.is(j+1, ".") {
		j += 2
	}
	name := ""
	if w.at(j).kind == word && !w.is(j, "use") {
		name = w.at(j).text
		j = w.generic(j + 1)
		if lang == Go && w.is(j, "[") {
			j = w.at(j).match + 1
		}
	}
	if !w.is(j, "(") {
		if lang == Ruby && name != "" {
			stop := j
			for stop < end && !w.at(stop).nl && !w.is(stop, "=") {
				stop++
			}
			s := w.enter(w.declared(j, stop, false), name, true)
			s.column = w.lineColumn(i)
			return nothing, stop, true
		}
		return value{}, i, false
	}
	params := slices.Concat(receiver, w.parameters(j, name == ""))
	next := min(w.at(j).match+1, end)
	switch lang {
	case Python, Ruby:
		stop := next
		if w.is(next, "->") {
			for stop < end && !w.is(stop, ":") && stop < next+maxLook {
				stop++
			}
			if v, ok := w.typeOf(next, stop); ok && name != "" {
				w.bind(name, v)
			}
		}
		s := w.enter(params, name, true)
		s.column = w.lineColumn(i)
		return nothing, stop, true
	}
	stop := next // the type of the result, and what else stands before the body
	for stop < end && !w.is(stop, "{") && !w.is(stop, ";") && !w.is(stop, "=") && !w.is(stop, "=>") && stop < next+maxLook &&
		!(w.at(stop).nl && !w.is(stop, ":")) {
		if w.at(stop).kind == open {
			stop = w.at(stop).match
		}
		stop++
	}
	stop = min(stop, end)
	if name != "" {
		if v, ok := w.typeOf(next, stop); ok {
			w.assignRet(name, v)
			if lang == Go {
				w.bindIn(w.scopes[0], "."+name, v)
			}
		}
	}
	switch {
	case w.is(stop, "{"):
		w.params, w.fn, w.isFn = params, name, true
		w.yield = value{}
		v := w.block(stop)
		return v, min(w.at(stop).match+1, end), true
	case w.is(stop, "=>") || w.is(stop, "=") && lang == Kotlin:
		w.enter(params, name, true)
		v, after := w.expr(stop+1, end)
		w.pop()
		if name != "" {
			w.assignRet(name, v)
		}
		return v, after, true
	}
	return nothing, stop, true
}
