package lexical

// assignment looks at an expression that stands for itself, or that something is set to.
func (w *walker) assignment(i, end int) int {
	tok := w.at(i)
	name, key, j := "", "", i
	switch {
	case w.target(i+1) && (!w.is(i+1, ":") || tok.nl):
		name, j = tok.text, i+1
	case (tok.text == w.d.self || w.d.lang == PHP && (tok.text == "self" || tok.text == "static") || w.d.lang == Python &&
		tok.text == "cls") &&
		w.member(i+1) && w.at(i+2).kind == word && w.target(i+3):
		key, j = w.at(i+2).text, i+3
		if key[0] == '$' {
			key = key[1:]
		}
	case w.is(i+1, ",") && w.at(i+2).kind == word && (w.is(i+3, ":=") || w.is(i+3, "=")) && w.d.lang == Go:
		name, j = tok.text, i+3
	}
	if name == "" && key == "" {
		v, next := w.expr(i, end)
		next = max(next, i+1)
		if w.at(next).kind == sign && (w.is(next, "=") || w.is(next, ":=")) && next < end {
			r, after := w.expr(next+1, end)
			if w.d.lang == Go && w.member(next-2) { // a field
				w.bindIn(w.scopes[0], "."+w.at(next-1).text, r)
			}
			return max(after, next+1)
		}
		if w.is(next, "as") && w.d.lang == Python && w.at(next+1).kind == word {
			w.assign(w.at(next+1).text, w.variable(v, w.at(next+1).text))
			return next + 2
		}
		w.lastRet = v
		if w.d.lang == Ruby {
			w.returns(v)
		}
		return next
	}
	v := value{}
	if w.is(j, ":") { // with a type
		stop := j + 1
		for stop < end && !w.is(stop, "=") && (!w.at(stop).nl || w.inside > 0) && stop < j+maxLook {
			if w.at(stop).kind == open {
				stop = w.at(stop).match
			}
			stop++
		}
		t, ok := w.typeOf(j+1, stop)
		if ok {
			v = t
		}
		j = stop
		if !w.is(j, "=") {
			w.set(name, key, v)
			return j
		}
	}
	r, next := w.expr(j+1, end)
	for w.is(next, "=") && next < end { // a = b = …
		w.set(w.at(next-1).text, "", value{})
		r, next = w.expr(next+1, end)
	}
	if v.shape == nil || r.shape != nil {
		v = r
	}
	if w.is(next, ",") && w.inside == 0 && w.d.lang == Python { // several at once
		v = nothing
	}
	w.set(name, key, v)
	w.lastRet = v
	if w.d.lang == Ruby {
		w.returns(v)
	}
	return max(next, j+1)
}

// set gives a variable, or a field of this object, a value.
func (w *walker) set(name, key string, v value) {
	if key != "" {
		if v.shape == nil && (!v.known || v.none()) {
			v = w.byName(key)
		}
		w.bindIn(w.classScope(), key, v)
		return
	}
	if w.d.lang == Ruby && name[0] == '@' {
		w.bindIn(w.classScope(), name, w.variable(v, name))
		return
	}
	w.assign(name, w.variable(v, name))
}

// target reports whether what stands before i is set to something.
func (w *walker) target(i int) bool {
	tok := w.at(i)
	if tok.kind != sign {
		return false
	}
	switch tok.text {
	case "=", ":=", "||=", "??=":
		return true
	case ":":
		if w.d.lang != Python || w.inside > 0 || w.at(i+1).nl {
			return false
		}
		return !w.is(i-1, "else") && !w.is(i-1, "try")
	}
	return false
}
