package lexical

// walker goes through the tokens of a file, and follows what is a thing of Redis: through
// declarations, assignments, fields, parameters and what functions return. It goes through
// the file several times, since what is used first may be declared last.
type walker struct {
	*tokens
	d       *dialect
	path    string
	scopes  []*scope
	lasting map[string]*scope
	reports map[int][]*report
	funcs   map[int]string // of a finding: the function that it is in
	// guess is what a thing is that is called redis, and of which nothing else is known.
	guess   *shape
	unsure  bool              // the guess is by a name alone
	rivals  bool              // the file imports what has clients and connections as well
	paths   []string          // of the imports
	names   map[string]string // that are imported: from where
	params  []param           // of the function whose body comes next
	fn      string            // its name
	isFn    bool              // it is a function's
	class   string            // the class whose body comes next
	base    *shape            // what it is derived from
	yield   value             // what a function gets that is an argument
	last    int               // the last transaction's finding, that an EXEC belongs to
	multis  map[string]int    // the same, by what it is called on
	opened  map[int]bool      // the transactions whose arguments are being looked at
	joined  []relation        // what belongs to a finding
	depth   int
	inside  int   // how many brackets the code is in
	steps   int   // how much was done: it is bounded by the length of the file
	lastRet value // what the last statement was
	choice  int   // the choices, with ? and :, that are yet to have their second branch
}

// maxDepth is how deep expressions may lie in one another.
const maxDepth = 200

// passes is how often the file is gone through.
const passes = 3

func newWalker(d *dialect, path string, t *tokens) *walker {
	return &walker{tokens: t, d: d, path: path, lasting: map[string]*scope{}, names: map[string]string{}}
}

// run goes through the file.
func (w *walker) run() {
	for range passes {
		w.reports, w.funcs = map[int][]*report{}, map[int]string{}
		w.multis, w.last = map[string]int{}, 0
		w.opened, w.joined = map[int]bool{}, nil
		w.scopes = []*scope{w.lastingScope("")}
		w.params, w.class, w.base, w.isFn, w.choice = nil, "", nil, false, 0
		w.walk(0, len(w.all))
		w.leave(-1)
	}
}

// walk goes through the statements in a range.
func (w *walker) walk(i, end int) {
	for i < end {
		w.steps++
		next := w.statement(i, end)
		if next <= i {
			next = i + 1
		}
		i = next
	}
}

// statement looks at one, or at the beginning of it, and returns where the rest is.
func (w *walker) statement(i, end int) int {
	tok := w.at(i)
	if tok.nl {
		w.indent(i)
	}
	switch tok.kind {
	case open:
		return w.group(i)
	case text:
		_, next := w.expr(i, end)
		return next
	case word:
		if next, ok := w.keyword(i, end); ok {
			return next
		}
		if next, ok := w.declaration(i, end); ok {
			return next
		}
		return w.assignment(i, end)
	case sign:
		if tok.text == ";" {
			w.params, w.isFn = nil, false
		}
		if tok.text == "=>" || tok.text == "->" {
			return w.arrow(i, end)
		}
	}
	return i + 1
}

// arrow looks at the body of a function that has none in braces.
func (w *walker) arrow(i, end int) int {
	if w.is(i+1, "{") || !w.isFn {
		return i + 1
	}
	params, fn := w.params, w.fn
	w.params, w.isFn = nil, false
	w.enter(params, fn, true)
	v, next := w.expr(i+1, end)
	w.pop()
	if fn != "" {
		w.assignRet(fn, v)
	}
	return next
}

// enter begins a block, in which the parameters are known.
func (w *walker) enter(params []param, fn string, isFn bool) *scope {
	s := w.push()
	s.fn, s.isFn = fn, isFn
	for _, p := range params {
		w.bindIn(s, p.name, p.value)
	}
	return s
}

// group looks at what lies between brackets, as statements.
func (w *walker) group(i int) int {
	tok := w.at(i)
	end := tok.match
	w.depth++
	w.inside++
	defer func() { w.depth--; w.inside-- }()
	if w.depth > maxDepth {
		return min(end+1, len(w.all))
	}
	if tok.text == "{" {
		w.block(i)
		return min(end+1, len(w.all))
	}
	s := w.push()
	w.walk(i+1, end)
	w.pop()
	if tok.text == "(" && w.braces() { // what it declares is known in the block behind it
		for name, v := range s.vars {
			w.params = append(w.params, param{name: name, value: v})
		}
	}
	return min(end+1, len(w.all))
}

// block looks at what stands in braces: the body of a class or of a function, or whatever.
func (w *walker) block(i int) value {
	end := w.at(i).match
	class, base, params, fn, isFn := w.class, w.base, w.params, w.fn, w.isFn
	w.class, w.base, w.params, w.isFn = "", nil, nil, false
	if class != "" {
		s := w.lastingScope(class)
		s.base = base
		w.scopes = append(w.scopes, s)
		for _, p := range params {
			w.bindIn(s, p.name, p.value)
		}
	} else {
		w.enter(params, fn, isFn)
	}
	w.walk(i+1, end)
	s := w.pop()
	if isFn && class == "" && fn != "" && s.ret.shape != nil {
		w.assignRet(fn, s.ret)
	}
	w.params, w.isFn, w.class = nil, false, ""
	return s.ret
}

// assignRet remembers what a function returns: it is then the same to name the function, and
// to call it.
func (w *walker) assignRet(fn string, v value) {
	if v.shape == nil {
		return
	}
	v.class, v.made = false, true
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if s := w.scopes[i]; s.body || s.isFn {
			if old := s.vars[fn]; old.class {
				return
			}
			w.bindIn(s, fn, v)
			return
		}
	}
}

// returns remembers what the function around returns.
func (w *walker) returns(v value) {
	if v.shape == nil {
		return
	}
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if s := w.scopes[i]; s.isFn {
			s.ret = v
			return
		}
	}
}

// braces reports whether blocks stand in braces.
func (w *walker) braces() bool { return w.d.lang != Python && w.d.lang != Ruby }

// indent ends what a line ends that begins further left. Brackets count: within one, lines
// begin anywhere.
func (w *walker) indent(i int) {
	if w.braces() || w.inside > 0 {
		return
	}
	w.leave(w.column(i))
}

// leave ends the functions and classes that began at this column or right of it.
func (w *walker) leave(column int) {
	for n := len(w.scopes) - 1; n > 0; n-- {
		s := w.scopes[n]
		if s.column == 0 || s.column < column {
			return
		}
		w.pop()
		if s.isFn {
			w.assignRet(s.fn, s.ret)
		}
	}
}

// function is the name of the function that the code is in, with its class.
func (w *walker) function() string {
	fn := ""
	for i := len(w.scopes) - 1; i > 0; i-- {
		s := w.scopes[i]
		if fn == "" && s.isFn {
			fn = s.fn
		}
		if s.body && s.class != "" && fn != "" {
			return s.class + "." + fn
		}
	}
	return fn
}
