package scriptcheck

import "github.com/yuin/gopher-lua/ast"

const (
	// maxSteps is how many expressions are looked at, loops and functions of the script again
	// and again.
	maxSteps = 1 << 20
	// maxCalls is how deep calls of the script's own functions are followed, and maxSelf how
	// often a function is entered from within.
	maxCalls, maxSelf = 16, 2
	// maxLoops is how deep in each other loops are followed twice.
	maxLoops = 4
	// maxChained is how many elseifs may follow each other before they count as nested.
	maxChained = 10000
)

// walker goes through a script as it would be executed.
type walker struct {
	target
	findings
	history

	functions   []*function
	frame       *frame
	random      *variable       // computed once the script may have asked for something random, with its name
	replicated  bool            // the script has called redis.replicate_commands
	tested      map[string]bool // what the script asks for before it uses it
	conditional int             // how deep in branches and loops
	loops       int
	calls       int
	depth       int
	chained     int // elseifs
	steps       int
	given       bool // up, for too many steps
	failed      error
}

// function is a function of the script.
type function struct {
	syntax *ast.FunctionExpr
	scope  *scope
	walked bool
	active int
}

// frame is a call of a function.
type frame struct {
	varargs values
	results []value
	random  value // of the walker, where the function returned
}

// script is the whole of it, with the functions that nobody was seen to call.
func (w *walker) script(stmts []ast.Stmt) {
	w.frame = &frame{}
	w.block(stmts, &scope{})
	for i := 0; i < len(w.functions); i++ { // more may come
		if f := w.functions[i]; !f.walked {
			w.random.value = value{}
			w.invoke(f, values{open: true, rest: value{origin: unclear}})
		}
	}
}

// step counts, and reports whether to go on.
func (w *walker) step(line int) bool {
	w.steps++
	if w.steps < maxSteps {
		return w.failed == nil
	}
	if !w.given {
		w.given = true
		w.add(line, CannotTell, "script", "", "too involved to be followed from here on")
	}
	return false
}

// down goes one level deeper into the syntax, and reports whether to go on.
func (w *walker) down(line int) bool {
	if w.depth++; w.depth > maxDepth && w.failed == nil {
		w.failed = &SyntaxError{line, "nested too deeply"}
	}
	return w.step(line)
}

func (w *walker) up() { w.depth-- }

// invoke is a call of a function of the script.
func (w *walker) invoke(f *function, args values) values {
	if f.active >= maxSelf || w.calls >= maxCalls {
		return values{open: true, rest: value{origin: unclear}}
	}
	f.walked = true
	f.active++
	w.calls++
	frame, depth := w.frame, w.depth
	w.frame, w.depth = w.newFrame(f, args), 0
	inner := f.scope.inner()
	if f.syntax.ParList.HasVargs {
		inner.declare("arg", value{origin: unclear}) // Lua 5.1 has it still, as 5.0 had
	}
	for i, name := range f.syntax.ParList.Names {
		inner.declare(name, args.at(i))
	}
	w.block(f.syntax.Stmts, inner)
	results := values{list: w.frame.results}
	w.set(w.random, join(w.random.value, w.frame.random))
	w.frame, w.depth = frame, depth
	w.calls--
	f.active--
	return results
}

func (w *walker) newFrame(f *function, args values) *frame {
	return &frame{varargs: args.from(len(f.syntax.ParList.Names))}
}

// returns notes what a function returns here.
func (f *frame) returns(v values) {
	for i, each := range v.list {
		if i == len(f.results) {
			f.results = append(f.results, value{})
		}
		f.results[i] = join(f.results[i], each)
	}
	if v.open && len(f.results) == len(v.list) {
		f.results = append(f.results, v.rest)
	}
}

// either takes the paths as branches.
func (w *walker) either(paths ...func() bool) bool {
	w.conditional++
	mark := len(w.changes)
	leaves := w.branches(paths...)
	w.conditional--
	w.steps += len(w.changes) - mark // many variables at many branches cost as much as a long script
	w.stopped = w.steps >= maxSteps
	return leaves
}

// loop takes the path not at all, once, or again after it was taken.
func (w *walker) loop(body func() bool) {
	rounds := 2
	if w.loops >= maxLoops {
		rounds = 1
	}
	w.loops++
	for range rounds {
		w.either(body, func() bool { return false })
	}
	w.loops--
}
