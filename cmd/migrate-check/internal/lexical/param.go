package lexical

// param is a parameter of a function.
type param struct {
	name  string
	value value
	field bool // it becomes a field of the class
}

// modifiers stand before the name or the type of a parameter.
var modifiers = map[string]bool{
	"private": true, "public": true, "protected": true, "internal": true, "readonly": true, "final": true, "val": true,
	"var": true, "override": true, "static": true, "let": true, "const": true, "this": true, "ref": true, "out": true, "in": true,
	"params": true, "vararg": true, "mut": true, "lateinit": true, "volatile": true, "open": true, "declare": true, "abstract": true,
	"required": true, "virtual": true, "sealed": true, "new": true, "async": true, "partial": true, "synchronized": true,
	"transient": true, "default": true, "native": true, "noinline": true, "crossinline": true, "suspend": true, "unsafe": true,
	"extern": true,
}

// fieldModifiers make a field of a parameter.
var fieldModifiers = map[string]bool{"private": true, "public": true, "protected": true, "readonly": true, "val": true, "var": true}

// parameters reads those in the brackets at i. In a function without a name the first that
// has no type is what it was promised.
func (w *walker) parameters(i int, anonymous bool) []param {
	if w.at(i).kind != open {
		return nil
	}
	return w.declared(i+1, w.at(i).match, anonymous)
}

// declared reads parameters.
func (w *walker) declared(from, end int, anonymous bool) []param {
	var all []param
	untyped := 0 // in Go: the names whose type is yet to come
	for i := from; i < end; {
		stop := w.comma(i, end)
		w.steps++
		p, typed, ok := w.param(i, stop)
		if ok {
			if !typed && anonymous && len(all) == 0 && w.yield.shape != nil {
				p.value, typed = w.yield, true
			}
			all = append(all, p)
			if w.d.lang == Go {
				if typed {
					for ; untyped > 0; untyped-- {
						all[len(all)-1-untyped].value = p.value
					}
				} else {
					untyped++
				}
			}
		}
		i = stop + 1
	}
	return all
}

// comma returns where the next comma is that is in no brackets, or the end.
func (w *walker) comma(i, end int) int {
	angle := 0
	for ; i < end; i++ {
		tok := w.at(i)
		switch {
		case tok.kind == open:
			i = min(tok.match, end)
		case tok.text == "<" && tok.kind == sign:
			angle++
		case tok.text == ">" && tok.kind == sign:
			angle--
		case tok.text == "," && tok.kind == sign && (angle <= 0 || w.d.lang == Python || w.d.lang == Ruby):
			return i
		}
	}
	return end
}

// param reads a single one.
func (w *walker) param(from, end int) (p param, typed, ok bool) {
	i := w.annotations(from, end)
	for i < end && i < from+maxLook && w.at(i).kind == word && modifiers[w.at(i).text] && i+1 < end && !w.is(i+1, ":") &&
		!w.is(i+1, "=") {
		p.field = p.field || fieldModifiers[w.at(i).text]
		i++
	}
	for i < end && w.at(i).kind == sign && !w.is(i, ":") && w.d.lang != PHP {
		i++
	}
	stop := i // where the default value begins
	colon := -1
	for ; stop < end; stop++ {
		tok := w.at(stop)
		if tok.kind == open {
			stop = min(tok.match, end)
			continue
		}
		if tok.kind == sign && tok.text == "=" {
			break
		}
		if tok.kind == sign && tok.text == ":" && colon < 0 {
			colon = stop
		}
	}
	switch w.d.lang {
	case Java, CSharp, PHP:
		name := stop - 1
		for name > i && w.at(name).kind != word {
			name--
		}
		if name < i || w.at(name).kind != word {
			return p, false, false
		}
		p.name, typed = w.at(name).text, name > i
		p.value = w.typed(i, name, typed, p.name)
	case Kotlin, JS, Python:
		if i >= end || w.at(i).kind != word {
			return p, false, false
		}
		p.name, typed = w.at(i).text, colon > i
		p.value = w.typed(colon+1, stop, typed, p.name)
	case Go:
		if i >= end || w.at(i).kind != word {
			return p, false, false
		}
		p.name, typed = w.at(i).text, i+1 < stop
		p.value = w.typed(i+1, stop, typed, p.name)
	default:
		if i >= end || w.at(i).kind != word {
			return p, false, false
		}
		p.name = w.at(i).text
		p.value = w.typed(0, 0, false, p.name)
	}
	if stop < end && p.value.shape == nil { // a default value says what it is
		if v, _ := w.expr(stop+1, end); v.shape != nil && (!v.class || w.d.lang == Python) {
			p.value = v
		}
	} else if stop < end {
		w.walk(stop+1, end)
	}
	if p.field {
		name := p.name
		if w.d.lang == PHP {
			name = name[1:]
		}
		w.bindIn(w.classScope(), name, p.value)
	}
	return p, typed, true
}

// typed is the value of a parameter. A type that says nothing is as good as none: the name decides.
func (w *walker) typed(from, end int, typed bool, name string) value {
	if !typed || w.opaque(from, end) {
		// A fixture of pytest is a function that has the name of the parameter.
		if v := w.scopes[0].vars[name]; v.made && w.d.lang == Python {
			return v
		}
		return w.byName(name) // of another nothing is known
	}
	if v, ok := w.typeOf(from, end); ok {
		return v
	}
	return nothing
}

// opaqueTypes are types that say nothing of a value, and the words that may stand around them.
var opaqueTypes = words("any Any unknown object Object mixed dynamic interface typing t readonly null undefined None Optional")

// opaque reports whether a type says nothing of a value, as any in TypeScript does.
func (w *walker) opaque(from, end int) (found bool) {
	for i := from; i < end; i++ {
		if w.at(i).kind == word {
			if !opaqueTypes[w.at(i).text] {
				return false
			}
			found = true
		}
	}
	return found
}

// annotations skips those of Java, Kotlin, C#, TypeScript and PHP.
func (w *walker) annotations(i, end int) int {
	for i < end {
		switch {
		case w.is(i, "@") && w.at(i+1).kind == word:
			i += 2
			for w.is(i, ".") {
				i += 2
			}
			if w.is(i, "(") && !(w.d.lang == Kotlin && w.at(i).space) {
				i = w.at(i).match + 1
			}
		case w.is(i, "#") && w.is(i+1, "["):
			i = w.at(i+1).match + 1
		case w.d.lang == CSharp && w.is(i, "["):
			i = w.at(i).match + 1
		default:
			return i
		}
	}
	return i
}

// typeOf finds a type of a library among the tokens of a type.
func (w *walker) typeOf(from, end int) (value, bool) {
	for i := from; i < end && i < from+maxLook; i++ {
		tok := w.at(i)
		if tok.kind == text && w.d.lang == Python {
			if v, ok := w.classIn(tok.text); ok {
				return v, true
			}
		}
		if tok.kind != word || i > from && w.is(i-1, ".") {
			continue
		}
		v := w.lookupClass(tok.text)
		for v.shape != nil && w.is(i+1, ".") && i+2 < end {
			st, ok := v.shape.step(w.at(i + 2).text)
			if !ok {
				v = value{}
				break
			}
			v = value{shape: w.d.shapes[st.to], class: st.class}
			i += 2
		}
		if v.shape != nil && v.class {
			v.class = false
			return v, true
		}
	}
	return value{}, false
}

// lookupClass is what a name is where a type is wanted: no variable.
func (w *walker) lookupClass(name string) value {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if v, ok := w.scopes[i].vars[name]; ok && (v.class || v.shape != nil && v.shape.module) {
			return v
		}
	}
	v, _ := w.classNamed(name)
	return v
}
