package lexical

// rubyEnds are words that end the arguments of a call without brackets.
var rubyEnds = map[string]bool{
	"if": true, "unless": true, "while": true, "until": true, "do": true, "and": true, "or": true, "rescue": true, "then": true,
	"end": true, "in": true, "when": true,
}

// rubyArgs looks at the arguments of a call whose name is before i, with brackets or without.
func (w *walker) rubyArgs(i, end int) ([]arg, int) {
	tok := w.at(i)
	if tok.kind == open && tok.text == "(" && !tok.space {
		return w.arguments(i, end)
	}
	if i >= end || tok.nl || !tok.space {
		return nil, i
	}
	switch {
	case tok.kind == text, tok.kind == num:
	case tok.kind == word && !rubyEnds[tok.text]:
	case tok.kind == open && tok.text == "[" || tok.kind == open && tok.text == "(":
	case tok.kind == sign && (tok.text == "*" || tok.text == "&" || tok.text == "-" || tok.text == "->") && !w.at(i+1).space:
	default:
		return nil, i
	}
	var args []arg
	for i < end {
		from, name := i, ""
		if w.at(i).kind == word && w.is(i+1, ":") {
			name = w.at(i).text
			i += 2
		}
		v, next := w.expr(i, end)
		i = max(next, i)
		for i < end && !w.is(i, ",") && !w.at(i).nl && w.at(i).kind != clos && !w.is(i, "{") && !w.is(i, ";") &&
			!(w.at(i).kind == word && rubyEnds[w.at(i).text]) {
			w.steps++
			i = max(w.rest(i, end), i+1)
		}
		args = append(args, arg{name: name, value: v, from: from, to: i})
		if !w.is(i, ",") {
			break
		}
		i++
	}
	return args, min(i, end)
}

// rubyBlock looks at the block that is handed to a call.
func (w *walker) rubyBlock(i, end int, yield value) int {
	do := w.is(i, "do") && !w.at(i).nl
	if !do && !(w.is(i, "{") && w.at(i).kind == open && !w.at(i).nl) || i >= end {
		return i
	}
	var params []param
	body := i + 1
	if w.is(body, "|") {
		stop := body + 1
		for stop < end && !w.is(stop, "|") && stop < body+20 {
			stop++
		}
		w.yield = yield
		params = w.declared(body+1, stop, true)
		w.yield = value{}
		body = stop + 1
	}
	if do {
		if w.inside > 0 {
			for _, p := range params {
				w.bind(p.name, p.value)
			}
			return body
		}
		s := w.enter(params, "", false)
		s.column = w.blockColumn(i)
		return body
	}
	w.inside++
	w.enter(params, "", false)
	w.walk(body, w.at(i).match)
	w.pop()
	w.inside--
	return min(w.at(i).match+1, end)
}

// blockColumn is the column of the line that a block begins on: where its end stands.
func (w *walker) blockColumn(i int) int {
	for j := i; j > i-maxLook && j >= 0; j-- {
		if w.at(j).nl && !w.member(j) {
			return w.column(j)
		}
	}
	return w.column(i)
}

// rubyCall looks at a name that may be called with arguments and a block.
func (w *walker) rubyCall(v value, i, end int) (value, int) {
	if w.is(i+1, "(") && !w.at(i+1).space || w.at(i+1).space {
		_, next := w.rubyArgs(i+1, end)
		if block := w.rubyBlock(next, end, value{}); block > next {
			return value{known: v.known}, block
		}
		if next > i+1 {
			return w.chain(value{shape: v.shape, known: v.known}, next, end)
		}
	}
	return w.chain(v, i+1, end)
}

// rubyMember looks at a method: every member is one.
func (w *walker) rubyMember(v value, i, end int) (value, int) {
	name := w.at(i).text
	var st step
	if v.shape == nil && !v.known && !v.self {
		if s := w.stranger(i, i+1); s != nil {
			v = value{shape: s, known: true}
		}
	}
	if v.shape != nil {
		st, _ = v.shape.step(name)
		if st.class && !w.is(i+1, "(") {
			return value{shape: w.d.shapes[st.to], class: true, known: true}, i + 1
		}
	}
	args, next := w.rubyArgs(i+1, end)
	res := value{}
	switch {
	case v.self:
		res = w.field(name)
	case v.shape == nil:
		if !v.known {
			res = w.byName(name)
		}
		if res.shape == nil {
			res = value{}
		}
	case name == "new" && v.class:
		res = w.instance(v, i, args)
	case wraps[name] && st.to == "" || generic[name] && len(args) == 0:
		res = v
		yield := value{shape: v.shape, known: true}
		if st.yields != "" {
			yield.shape = w.d.shapes[st.yields]
		}
		return v, w.rubyBlock(next, end, yield)
	default:
		res = w.perform(v, i, args)
	}
	yield := value{}
	if st.yields != "" {
		yield = value{shape: w.d.shapes[st.yields], known: true, origin: i + 1}
	}
	return res, w.rubyBlock(next, end, yield)
}
