package lexical

// typedName looks at a declaration of Java or C#: the type comes before the name.
func (w *walker) typedName(i, end int) (int, bool) {
	tok := w.at(i)
	if tok.kind != word || noTypes[tok.text] || particles[tok.text] {
		return 0, false
	}
	if w.is(i+1, "(") { // a constructor, or a method of an annotation
		return w.constructor(i, end)
	}
	j := i + 1
	for w.is(j, ".") && w.at(j+1).kind == word {
		j += 2
	}
	j = w.generic(j)
	for w.is(j, "?") || w.is(j, "[") && w.at(j).match == j+1 || w.is(j, ".") && false {
		if w.is(j, "[") {
			j++
		}
		j++
	}
	name := w.at(j)
	if name.kind != word || noTypes[name.text] || j >= end || joins[name.text] {
		return 0, false
	}
	next := w.at(j + 1)
	switch {
	case next.kind == open && next.text == "(":
	case next.kind == open && next.text == "{" && w.d.lang == CSharp:
	case next.text == "<" && w.generic(j+1) > j+1 && w.is(w.generic(j+1), "("):
		next = w.at(w.generic(j + 1))
	case next.kind == sign && (next.text == "=" || next.text == ";" || next.text == "," || next.text == ":" || next.text == "=>"),
		next.kind == clos, next.kind == word && next.text == "in", j+1 >= end:
	default:
		return 0, false
	}
	v, ok := w.typeOf(i, j)
	if !ok {
		v = nothing
		if tok.text == "var" || tok.text == "dynamic" || tok.text == "object" {
			v = value{}
		}
	}
	if next.kind == open && next.text == "(" {
		return w.typedFunction(j, v, end), true
	}
	switch {
	case next.text == "=" || next.text == ":" || next.text == "in" && next.kind == word:
		r, after := w.expr(j+2, end)
		if v.shape == nil && (!v.known || r.shape != nil && !w.otherType(i, j)) {
			v = r
		} else if r.origin > 0 {
			v.origin = r.origin
		}
		if r.konst && v.shape == nil {
			v = r
		}
		w.bind(name.text, w.variable(v, name.text))
		return max(after, j+2), true
	case next.text == "=>":
		r, after := w.expr(j+2, end)
		if v.shape == nil && !v.known {
			v = r
		}
		w.bind(name.text, v)
		return max(after, j+2), true
	}
	w.bind(name.text, v)
	return j + 1, true
}

// otherType reports whether the type of a declaration is one that cannot be a library's.
func (w *walker) otherType(i, j int) bool {
	for ; i < j; i++ {
		switch w.at(i).text {
		case "String", "string", "int", "long", "boolean", "bool", "List", "Set", "Map", "Object", "Long", "Boolean":
			return true
		}
	}
	return false
}

// typedFunction looks at a function of Java or C#, whose name is at j.
func (w *walker) typedFunction(j int, ret value, end int) int {
	name := w.at(j).text
	i := w.generic(j + 1)
	if ret.shape != nil {
		w.bind(name, ret)
	}
	params := w.parameters(i, false)
	next := w.at(i).match + 1
	for k := 0; next < end && k < 40 && !w.is(next, "{") && !w.is(next, ";") && !w.is(next, "=>"); k++ {
		if w.at(next).kind == open {
			next = w.at(next).match
		}
		next++
	}
	switch {
	case w.is(next, "{"):
		w.params, w.fn, w.isFn = params, name, true
		w.block(next)
		return min(w.at(next).match+1, end)
	case w.is(next, "=>"):
		w.enter(params, name, true)
		v, after := w.expr(next+1, end)
		w.pop()
		w.assignRet(name, v)
		return after
	}
	return min(next, end)
}

// constructor looks at one: it has no type in front, and a body behind it.
func (w *walker) constructor(i, end int) (int, bool) {
	next := w.at(i+1).match + 1
	head := next
	for k := 0; k < 20 && !w.is(head, "{") && (w.at(head).kind == word || w.is(head, ",") || w.is(head, ":") || w.is(head, "(")); k++ {
		if w.at(head).kind == open {
			head = w.at(head).match
		}
		head++
	}
	if !w.is(head, "{") || particles[w.at(i).text] || w.member(i-1) || !w.scopes[len(w.scopes)-1].body {
		return 0, false
	}
	w.handedOn(next, head)
	w.params, w.fn, w.isFn = w.parameters(i+1, false), w.at(i).text, true
	w.block(head)
	return min(w.at(head).match+1, end), true
}

// handedOn looks at what is handed on to another constructor.
func (w *walker) handedOn(i, end int) {
	for ; i < end; i++ {
		if w.is(i, "(") {
			w.arguments(i, end)
			i = w.at(i).match
		}
	}
}

// goDeclaration looks at a declaration of Go.
func (w *walker) goDeclaration(start, i, end int, declares bool) (int, bool) {
	tok := w.at(i)
	if tok.kind != word {
		return 0, false
	}
	if w.is(start, "type") {
		return start + 2, true
	}
	j := i + 1
	if w.at(j).space && (w.is(j, "*") && w.at(j+1).kind == word && !w.at(j+1).space || w.at(j).kind == word && !w.at(j).nl &&
		w.is(j+1, ".")) {
		stop := j
		for stop < end && stop < j+8 && !w.at(stop).nl && (w.at(stop).kind == word || w.is(stop, ".") || w.is(stop, "*")) {
			stop++
		}
		if v, ok := w.typeOf(j, stop); ok {
			w.bind(tok.text, v)
			w.bindIn(w.scopes[0], "."+tok.text, v)
			return stop, true
		}
	}
	if declares {
		return i, true
	}
	return 0, false
}
