package lexical

// noTypes are words that no type is called.
var noTypes = map[string]bool{
	"return": true, "new": true, "throw": true, "else": true, "case": true, "goto": true, "in": true, "is": true, "as": true,
	"instanceof": true, "await": true, "yield": true, "extends": true, "implements": true, "where": true, "throws": true, "import": true,
	"package": true, "using": true, "when": true, "and": true, "or": true, "not": true, "if": true, "while": true, "for": true,
	"out":       true,
	"insteadof": true, "by": true, "get": true, "set": true, "to": true, "until": true, "downTo": true, "of": true, "from": true,
	"select": true, "orderby": true, "join": true, "equals": true, "on": true, "into": true, "let": true, "use": true,
	"echo": true, "assert": true,
}

// declaration looks at one: of a variable, a field, or a function with its type in front.
func (w *walker) declaration(i, end int) (int, bool) {
	start := i
	lang := w.d.lang
	if lang == Python || lang == Ruby || w.member(i-1) && i > 0 {
		return 0, false
	}
	declares := false
	for w.at(i).kind == word && modifiers[w.at(i).text] && i < end && i < start+8 && (w.at(i+1).kind == word || w.is(i+1, "{") ||
		w.is(i+1, "[") || w.is(i+1, "?")) {
		switch w.at(i).text {
		case "const", "let", "var", "val":
			declares = true
		case "new", "in", "this", "default", "async", "open", "ref", "out":
			if i == start && !(lang == CSharp && w.at(i).text == "async") {
				return 0, false
			}
		}
		i++
	}
	if i > start && (skippedHead[w.at(i).text] || w.at(i).text == "function" || w.at(i).text == "fun") {
		return i, true
	}
	switch lang {
	case JS:
		if declares {
			return w.declare(i, end), true
		}
		return w.memberOf(start, i, end)
	case Kotlin:
		if declares {
			return w.declare(i, end), true
		}
	case Go:
		return w.goDeclaration(start, i, end, declares)
	case Java, CSharp:
		return w.typedName(i, end)
	case PHP:
		if i > start && w.at(i).kind == word && (w.at(i+1).kind == word || w.is(i, "?")) || w.is(i, "?") && i > start {
			j := i
			for j < end && j < i+6 && !(w.at(j).kind == word && w.at(j).text[0] == '$') {
				j++
			}
			if w.at(j).kind == word && w.at(j).text[0] == '$' {
				v, ok := w.typeOf(i, j)
				if !ok {
					v = nothing
				}
				w.bindIn(w.classScope(), w.at(j).text[1:], v)
				return j + 1, true
			}
		}
		if i > start && w.at(i).kind == word && w.at(i).text[0] == '$' { // private $redis = …
			if w.is(i+1, "=") {
				v, next := w.expr(i+2, end)
				w.bindIn(w.classScope(), w.at(i).text[1:], v)
				return next, true
			}
			return i + 1, true
		}
	}
	if i > start {
		return i, true
	}
	return 0, false
}

var skippedHead = map[string]bool{"class": true, "interface": true, "record": true, "struct": true, "enum": true, "trait": true,
	"object": true}

// declare looks at what stands behind const, let, var or val.
func (w *walker) declare(i, end int) int {
	if w.at(i).kind == open && w.at(i).text == "{" {
		return w.unpack(i, end)
	}
	if w.at(i).kind != word {
		return i + 1
	}
	for w.d.lang == Kotlin && w.is(i+1, ".") { // of another type
		i += 2
	}
	name := w.at(i).text
	j := i + 1
	if w.is(j, "!") {
		j++
	}
	typed := w.is(j, ":")
	v := value{}
	if typed {
		stop := w.typeEnd(j+1, end)
		if t, ok := w.typeOf(j+1, stop); ok {
			v = t
		} else if !w.opaque(j+1, stop) {
			v = nothing
		}
		j = stop
	}
	switch {
	case w.is(j, "="), w.is(j, "by"):
		r, next := w.expr(j+1, end)
		if w.is(next, "=") {
			r, next = w.expr(next+1, end)
		}
		if v.shape == nil {
			v = r
		} else {
			v.origin = r.origin
		}
		if v.shape == nil && v.konst && w.d.lang == JS && name != "" {
			v.known = true
		}
		w.bind(name, w.variable(v, name))
		return max(next, j+1)
	case typed:
		w.bind(name, w.variable(v, name))
	case w.d.lang == JS || w.d.lang == Kotlin:
		w.bind(name, value{})
		if w.is(j, "of") || w.is(j, "in") {
			v, next := w.expr(j+1, end)
			w.bind(name, v)
			return next
		}
	}
	return j
}

// variable is the value of a variable: if nothing is known of what it is set to, its name may
// tell, unless the value is something else for sure.
func (w *walker) variable(v value, name string) value {
	if v.shape != nil || v.known && !v.none() || v.self {
		return v
	}
	for _, s := range w.scopes { // as a module that could not be imported
		if old := s.vars[name]; v.none() && old.shape != nil {
			return v
		}
	}
	return w.byName(name)
}

// typeEnd is where a type ends.
func (w *walker) typeEnd(i, end int) int {
	angle := 0
	for ; i < end; i++ {
		tok := w.at(i)
		switch {
		case tok.kind == open:
			if tok.text == "{" && w.d.lang != JS || tok.nl {
				return i
			}
			i = tok.match
		case tok.kind == clos, tok.text == ";" && tok.kind == sign, tok.text == "=" && tok.kind == sign:
			return min(i, end)
		case tok.text == "<" && tok.kind == sign:
			angle++
		case tok.text == ">" && tok.kind == sign:
			angle--
		case tok.text == "," && tok.kind == sign && angle <= 0, tok.text == "=>" && angle <= 0:
			return i
		case tok.nl && angle <= 0 && tok.kind == word && !w.is(i-1, ":") && !w.is(i-1, "|"):
			return i
		case tok.text == "by" && w.d.lang == Kotlin:
			return i
		}
	}
	return min(i, end)
}

// unpack looks at const { a, b: c } = ….
func (w *walker) unpack(i, end int) int {
	stop := w.at(i).match
	next := stop + 1
	if w.is(next, ":") {
		next = w.typeEnd(next+1, end)
	}
	if !w.is(next, "=") {
		return min(stop+1, end)
	}
	v, after := w.expr(next+1, end)
	for j := i + 1; j < stop; {
		comma := w.comma(j, stop)
		if w.at(j).kind == word {
			name, as := w.at(j).text, w.at(j).text
			if w.is(j+1, ":") && w.at(j+2).kind == word {
				as = w.at(j + 2).text
			}
			w.bind(as, w.taken(v, name))
		}
		j = comma + 1
	}
	return max(after, next+1)
}

// taken is what something has by a name.
func (w *walker) taken(v value, name string) value {
	if v.self {
		return w.field(name)
	}
	if v.shape != nil {
		st, ok := v.shape.step(name)
		if !ok {
			return nothing
		}
		return value{shape: w.d.shapes[st.to], class: st.class, known: true}
	}
	return w.byName(name)
}

// memberOf looks at a field or a method of a class of TypeScript.
func (w *walker) memberOf(start, i, end int) (int, bool) {
	if !w.scopes[len(w.scopes)-1].body || len(w.scopes) == 1 || w.at(i).kind != word {
		return 0, false
	}
	if w.is(i, "get") || w.is(i, "set") || w.is(i, "async") {
		if w.at(i+1).kind == word {
			i++
		}
	}
	name := w.at(i).text
	j := w.generic(i + 1)
	switch {
	case w.is(j, "("):
		params := w.parameters(j, false)
		next := w.at(j).match + 1
		stop := next
		if w.is(next, ":") {
			for stop = next + 1; stop < end && stop < next+maxLook && !w.is(stop, "{") && !w.is(stop, ";"); stop++ {
			}
			if v, ok := w.typeOf(next, stop); ok {
				w.bind(name, v)
			}
		}
		if w.is(stop, "{") {
			w.params, w.fn, w.isFn = params, name, true
			w.block(stop)
			return min(w.at(stop).match+1, end), true
		}
		return min(stop, end), true
	case w.is(j, ":"), w.is(j, "="), w.is(j, "?") && w.is(j+1, ":"), w.is(j, "!") && w.is(j+1, ":"):
		if w.is(j, "?") {
			j++
			stop := w.typeEnd(j+1, end)
			if v, ok := w.typeOf(j+1, stop); ok {
				w.bind(name, v)
			}
			return stop, true
		}
		return w.declare(i, end), true
	}
	if i > start {
		return i, true
	}
	return 0, false
}
