package lexical

// member reports whether a sign stands here behind which the name of a member comes.
func (w *walker) member(i int) bool {
	tok := w.at(i)
	if tok.kind != sign {
		return false
	}
	switch tok.text {
	case ".": // in PHP it puts texts together
		return w.d.lang != PHP
	case "?.", "&.":
		return true
	case "->", "?->":
		return w.d.lang == PHP
	case "::":
		return w.d.lang == PHP || w.d.lang == Ruby
	}
	return false
}

// named looks at an operand that begins with a word.
func (w *walker) named(i, end int) (value, int) {
	tok := w.at(i)
	if tok.nl && w.stops(tok.text) {
		return value{}, i
	}
	switch tok.text {
	case "new":
		if w.d.lang != Ruby && w.d.lang != Python && w.at(i+1).kind == word {
			return w.construct(i+1, end)
		}
	case "function", "func", "fn", "fun", "delegate", "def":
		if v, next, ok := w.anonymous(i, end); ok {
			return v, next
		}
	case "lambda":
		if w.d.lang == Python {
			stop := i + 1
			for stop < end && !w.is(stop, ":") && stop < i+maxLook {
				stop++
			}
			w.enter(w.declared(i+1, stop, true), "", true)
			v, next := w.expr(stop+1, end)
			w.pop()
			return v, next
		}
	case "True", "true", "False", "false", "None", "null", "nil", "undefined":
		return value{known: true, konst: true, text: tok.text}, i + 1
	case "super":
		if w.d.lang == Python && w.is(i+1, "(") {
			i = w.at(i + 1).match
		}
		return w.chain(value{self: true}, i+1, end)
	case "require", "import":
		if w.d.lang == JS && w.is(i+1, "(") {
			v := w.required(i + 1)
			return w.chain(v, w.at(i+1).match+1, end)
		}
	}
	if tok.text == w.d.self || tok.text == "cls" && w.d.lang == Python || w.d.lang == PHP && (tok.text == "self" ||
		tok.text == "static" || tok.text == "parent") {
		return w.chain(value{self: true}, i+1, end)
	}
	if (w.is(i+1, "=>") || w.is(i+1, "->") && (w.d.lang == Java)) && (w.d.lang == JS || w.d.lang == Java || w.d.lang == CSharp) {
		return w.closure(w.declared(i, i+1, true), i+1, end)
	}
	v := w.lookup(tok.text)
	next := i + 1
	if w.is(next, "(") && v.shape == nil && !v.known { // a function whose name says what it returns
		v = w.made(tok.text)
	}
	if w.d.lang == Ruby && v.shape == nil {
		return w.rubyCall(v, i, end)
	}
	return w.chain(v, next, end)
}

// made is what a function returns that is called getRedis, or create_redis_client.
func (w *walker) made(name string) value {
	if w.guess == nil {
		return value{}
	}
	if m := makerName.FindStringSubmatch(name); m != nil {
		if v := w.byName("redis" + m[1]); v.shape != nil {
			return v
		}
	}
	return value{}
}

// stops reports whether a word at the beginning of a line begins something else.
func (w *walker) stops(s string) bool {
	switch s {
	case "end", "else", "elsif", "elif", "except", "finally", "rescue", "ensure", "when", "case", "catch":
		return true
	}
	return false
}

// construct looks at what is made with new.
func (w *walker) construct(i, end int) (value, int) {
	at := i
	if w.d.lang == PHP && w.is(i, "class") {
		return w.nameless(i, end)
	}
	v := w.lookupClass(w.at(i).text)
	if w.d.lang == JS && v.shape == nil {
		if x := w.lookup(w.at(i).text); x.class || x.shape != nil && x.shape.module {
			v = x
		}
	}
	own := v.shape == nil
	for i++; w.is(i, ".") && w.at(i+1).kind == word; i += 2 {
		name := w.at(i + 1).text
		st, ok := v.shape.step(name)
		switch {
		case ok:
			v = value{shape: w.d.shapes[st.to], class: st.class, known: true}
		default:
			v, _ = w.classNamed(name)
		}
		own = v.shape == nil
		at = i + 1
	}
	i = w.generic(i)
	if own || v.shape == nil {
		v = nothing
	}
	if w.is(i, "(") {
		var next int
		v, next = w.invoke(v, at, i, end, true)
		if w.is(next, "{") && v.shape == nil && (w.d.lang == Java || w.d.lang == CSharp) { // a class without a name, or fields
			w.params, w.isFn = nil, false
			if w.d.lang == Java {
				w.block(next)
			} else {
				w.walk(next+1, w.at(next).match)
			}
			next = w.at(next).match + 1
		}
		return w.chain(v, min(next, end), end)
	}
	v = w.instance(v, at, nil)
	return w.chain(v, i, end)
}

// nameless looks at an object whose class has no name.
func (w *walker) nameless(i, end int) (value, int) {
	v := nothing
	j := i + 1
	for ; j < end && j < i+maxLook && !w.is(j, "{"); j++ {
		if w.is(j, "(") {
			_, next := w.arguments(j, end)
			j = next - 1
		}
		if w.is(j, "extends") {
			if base := w.lookupClass(w.at(j + 1).text); base.shape != nil {
				v = value{shape: base.shape, known: true}
			}
		}
	}
	if !w.is(j, "{") {
		return v, j
	}
	w.params, w.isFn, w.class = nil, false, ""
	w.block(j)
	return w.chain(v, min(w.at(j).match+1, end), end)
}

// generic skips <…>, if it is what stands between a name and its arguments.
func (w *walker) generic(i int) int {
	if !w.is(i, "<") || w.d.lang == Python || w.d.lang == Ruby || w.d.lang == PHP || w.d.lang == Go {
		return i
	}
	depth := 0
	for j := i; j < i+maxLook; j++ {
		tok := w.at(j)
		switch {
		case tok.kind == endOf || tok.text == ";" && tok.kind == sign || tok.text == "&&" || tok.text == "||":
			return i
		case tok.text == "<" && tok.kind == sign:
			depth++
		case tok.text == ">" && tok.kind == sign:
			if depth--; depth == 0 {
				return j + 1
			}
		case tok.kind == open && tok.text == "{" && w.d.lang != JS, tok.kind == clos:
			return i
		case tok.kind == open:
			j = tok.match
		}
	}
	return i
}

// chain looks at what follows an operand: members, calls, elements.
func (w *walker) chain(v value, i, end int) (value, int) {
	for i < end {
		w.steps++
		tok := w.at(i)
		switch {
		case (tok.text == "!" || tok.text == "!!" || tok.text == "?") && tok.kind == sign && (w.member(i+1) || w.is(i+1, "[")) &&
			(tok.text == "!!" || w.d.lang != Ruby && w.d.lang != Python):
			i++
		case w.member(i) && w.at(i+1).kind == word:
			if tok.nl && !w.braces() && w.d.lang == Python && w.inside == 0 {
				return v, i
			}
			v, i = w.access(v, i+1, end)
		case w.member(i) && w.is(i+1, "<") && w.generic(i+1) > i+1 && w.at(w.generic(i+1)).kind == word: // .<String>name()
			v, i = w.access(v, w.generic(i+1), end)
		case w.member(i) && w.is(i+1, "("): // ?.(…), and .() of Ruby
			v, i = w.invoke(v, i, i+1, end, false)
		case tok.kind == open && tok.text == "(" && !tok.nl:
			if w.d.lang == Ruby && tok.space {
				return v, i
			}
			v, i = w.invoke(v, i-1, i, end, false)
		case tok.kind == open && tok.text == "[" && !tok.nl && !(w.d.lang == Ruby && tok.space):
			w.push()
			w.walk(i+1, tok.match)
			w.pop()
			v.konst = false
			if v.shape == nil && (w.d.lang == JS || w.d.lang == Python || w.d.lang == PHP) { // what is in it is not known
				v.known = false
			}
			if v.shape != nil && v.shape.module {
				v = nothing
			}
			i = min(tok.match+1, end)
		case tok.kind == open && tok.text == "{" && w.d.lang == Kotlin && !tok.nl && !v.class:
			v, i = w.trailing(v, i, end)
		case tok.text == "as" && tok.kind == word && !tok.nl && w.d.lang != Python && w.d.lang != Ruby && w.d.lang != PHP:
			stop := i + 1
			for stop < end && (w.at(stop).kind == word || w.is(stop, ".") || w.is(stop, "?")) && !w.at(stop).nl {
				stop++
			}
			stop = w.generic(stop)
			if t, ok := w.typeOf(i+1, stop); ok {
				v = t
			} else if !w.opaque(i+1, stop) {
				v = nothing
			}
			i = max(stop, i+1)
		case tok.kind == sign && tok.text == "!" && w.d.lang == JS && !tok.nl && !w.is(i+1, "="):
			i++
		default:
			return v, i
		}
	}
	return v, i
}

// trailing looks at a function that stands behind the brackets of a call, or in their place.
func (w *walker) trailing(v value, i, end int) (value, int) {
	yield := w.yield
	w.yield = v
	ret := w.braced(i)
	w.yield = yield
	if v.shape == nil && (w.is(i-1, "lazy") || w.is(i-1, "run") || w.is(i-1, ")") && w.is(w.at(i-1).match-1, "lazy")) {
		v = ret
	}
	return v, min(w.at(i).match+1, end)
}
