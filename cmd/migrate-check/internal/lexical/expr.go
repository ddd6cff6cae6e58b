package lexical

// joins are the signs and words between two operands of which either may be the value.
var joins = map[string]bool{
	"||": true, "??": true, "?:": true, "or": true, "?": true, ":": true, "if": true, "else": true, "and": true, "&&": true,
}

// expr looks at an expression, and tells what it is.
func (w *walker) expr(i, end int) (value, int) {
	v, next := w.operand(i, end)
	for next < end {
		tok := w.at(next)
		if tok.kind == text && v.konst && !tok.nl || tok.kind == text && v.konst && w.d.lang == Python && w.inside > 0 {
			more, n := w.operand(next, end) // strings side by side are one
			v, next = join(v, more), n
			continue
		}
		plus := tok.text == "+" || w.d.lang == PHP && tok.text == "." || w.d.lang == Lua && tok.text == "..."
		switch {
		case tok.kind == sign && plus:
			more, n := w.operand(next+1, end)
			v, next = join(v, more), max(n, next+1)
		case tok.kind != text && tok.kind != endOf && joins[tok.text] && w.joins(next, v):
			more, n := w.operand(next+1, end)
			if v.shape == nil && (more.shape != nil || !v.konst) {
				v = more
			}
			next = max(n, next+1)
		default:
			return v, next
		}
	}
	return v, next
}

// joins reports whether an operand goes on here: words of a new line do not, and a colon does
// only in a choice.
func (w *walker) joins(i int, v value) bool {
	tok := w.at(i)
	if tok.nl && !w.braces() && w.inside == 0 {
		return false
	}
	switch tok.text {
	case ":":
		return w.d.lang != Python && w.choice > 0 && w.unchoose()
	case "?":
		if w.d.lang == Python {
			return false
		}
		if w.is(i+1, ".") || w.is(i+1, ":") || w.is(i+1, ",") || w.is(i+1, ")") || w.is(i+1, "=") {
			return false
		}
		w.choice++
		return true
	case "if", "and", "or":
		return w.d.lang == Python || w.d.lang == Kotlin && tok.text != "if"
	case "else":
		return w.d.lang == Python || w.d.lang == Kotlin && v.shape == nil && w.choice > 0
	}
	return true
}

func (w *walker) unchoose() bool { w.choice--; return true }

// join puts constants together.
func join(a, b value) value {
	if a.konst && b.konst {
		return value{konst: true, known: true, text: a.text + b.text}
	}
	return nothing
}

// prefixes are words that stand before an expression and do not change what it is.
var prefixes = map[string]bool{
	"await": true, "yield": true, "async": true, "return": true, "typeof": true, "not": true, "throw": true,
	"ref": true, "out": true, "go": true, "defer": true, "range": true, "clone": true, "from": false, "suspend": true,
}

// unary are the signs that may stand before an operand.
var unary = map[string]bool{
	"!": true, "-": true, "+": true, "*": true, "&": true, "@": true, "~": true, "...": true, "++": true, "--": true,
}

// operand looks at one operand, with what is called on it.
func (w *walker) operand(i, end int) (value, int) {
	w.depth++
	defer func() { w.depth-- }()
	for i < end {
		w.steps++
		tok := w.at(i)
		switch {
		case tok.kind == sign && unary[tok.text]:
			i++
			continue
		case tok.kind == word && prefixes[tok.text] && !w.is(i+1, "=") && !w.member(i+1) && !(w.is(i+1, "(") && w.d.lang == Ruby):
			i++
			continue
		}
		break
	}
	if i >= end {
		return value{}, i
	}
	if w.depth > maxDepth {
		if tok := w.at(i); tok.kind == open {
			return value{}, min(tok.match+1, end)
		}
		return value{}, i + 1
	}
	tok := w.at(i)
	switch tok.kind {
	case text:
		v := value{known: true, konst: !tok.holed, text: tok.text}
		i++
		for w.at(i).kind == open && w.at(i).text == "${" {
			i = w.group(i)
		}
		return w.chain(v, i, end)
	case num:
		return value{known: true, konst: true, text: tok.text}, i + 1
	case open:
		return w.bracketed(i, end)
	case word:
		return w.named(i, end)
	}
	return value{}, i
}

// bracketed looks at an operand that begins with a bracket.
func (w *walker) bracketed(i, end int) (value, int) {
	tok := w.at(i)
	after := min(tok.match+1, end)
	w.inside++
	v, next := w.enclosed(i, after, end)
	w.inside--
	if next < 0 {
		return w.chain(v, after, end)
	}
	return v, next
}

// enclosed looks at what is in brackets; next is negative if the operand may go on behind them.
func (w *walker) enclosed(i, after, end int) (v value, next int) {
	tok := w.at(i)
	switch tok.text {
	case "(":
		if w.lambda(after) {
			params := w.parameters(i, true)
			return w.closure(params, after, end)
		}
		if v, ok := w.cast(i, after); ok {
			_, next = w.operand(after, end)
			return v, next
		}
		from := i + 1
		if w.d.lang == JS && w.is(from, "0") && w.is(from+1, ",") { // (0, a.b)(), as compilers write a.b()
			from += 2
		}
		w.push()
		v, next = w.expr(from, tok.match)
		w.walk(next, tok.match)
		w.pop()
		return v, -1
	case "{":
		return w.braced(i), -1
	}
	w.push()
	v, next = w.expr(i+1, tok.match)
	w.walk(next, tok.match)
	w.pop()
	if next < tok.match || v.shape != nil && !w.is(i+2, "]") {
		v = nothing
	}
	return v, -1
}

// cast reports whether the brackets have only a type in them, of what comes next.
func (w *walker) cast(i, after int) (value, bool) {
	next := w.at(after)
	if next.nl || next.kind != word && next.text != "(" || w.at(i).match-i > 12 || w.d.lang == Python || w.d.lang == JS ||
		w.d.lang == Ruby {
		return value{}, false
	}
	if w.at(i+1).kind != word || next.kind == word && joins[next.text] {
		return value{}, false
	}
	v, ok := w.typeOf(i+1, w.at(i).match)
	return v, ok
}

// lambda reports whether an arrow stands here.
func (w *walker) lambda(i int) bool {
	if w.is(i, "=>") {
		return w.d.lang == JS || w.d.lang == CSharp
	}
	if w.is(i, ":") && w.d.lang == JS { // (a): Promise<void> =>
		for j := i; j < i+20; j++ {
			if w.is(j, "=>") {
				return true
			}
			if tok := w.at(j); tok.kind == endOf || tok.kind == clos || tok.text == ";" || tok.text == "{" {
				return false
			}
		}
	}
	return w.is(i, "->") && (w.d.lang == Java || w.d.lang == Kotlin)
}

// function_ looks at a function without a name, whose body comes; what it is is what it
// returns.
func (w *walker) closure(params []param, i, end int) (value, int) {
	yield := w.yield
	w.yield = value{}
	defer func() { w.yield = yield }()
	for j := i; j < i+20 && j < end; j++ {
		if w.is(j, "=>") || w.is(j, "->") && w.d.lang != PHP {
			i = j + 1
			break
		}
	}
	if w.is(i, "{") {
		w.params, w.fn, w.isFn = params, "", true
		v := w.block(i)
		return v, min(w.at(i).match+1, end)
	}
	w.enter(params, "", true)
	v, next := w.expr(i, end)
	w.pop()
	return v, next
}

// braced looks at braces within an expression: an object, or a function.
func (w *walker) braced(i int) value {
	end := w.at(i).match
	switch w.d.lang {
	case Kotlin: // { a, b -> … }
		params := []param{{name: "it", value: w.yield}}
		start := i
		for j := i + 1; j < end && j < i+16; j++ {
			if w.is(j, "->") {
				params = w.declared(i+1, j, true)
				start = j
				break
			}
			if tok := w.at(j); tok.nl && j > i+1 || tok.kind == open {
				break
			}
		}
		w.yield = value{}
		w.enter(params, "", false)
		w.lastRet = value{}
		w.walk(start+1, end)
		w.pop()
		return w.lastRet
	case JS:
		w.push()
		w.walk(i+1, end)
		w.pop()
		return nothing
	}
	w.params, w.isFn = nil, false
	w.block(i)
	return nothing
}
