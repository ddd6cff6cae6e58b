package scriptcheck

import "github.com/yuin/gopher-lua/ast"

const (
	// maxSteps limits the visited expressions, counting repeated visits in loops and functions.
	maxSteps = 1 << 20
	// maxCalls limits the depth of calls of the script's functions, and maxSelf the depth of recursion.
	maxCalls, maxSelf = 16, 2
	// maxLoops is the nesting depth up to which loops are followed twice.
	maxLoops = 4
	// maxChained limits a chain of elseifs; beyond it they count as nested.
	maxChained = 10000
)

// walker visits the statements of a script in the order of execution.
type walker struct {
	target
	findings
	history

	functions   []*function
	frame       *frame
	random      *variable       // origin computed after a possible random command, with that command's name
	replicated  bool            // the script has called redis.replicate_commands
	tested      map[string]bool // functions that the script tests before use
	conditional int             // the nesting depth of branches and loops
	loops       int
	calls       int
	depth       int
	chained     int // the current chain of elseifs
	steps       int
	given       bool // the walker stopped at maxSteps
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
	random  value // walker.random at the return
}

// script follows the whole script, then the functions that it never called.
func (w *walker) script(stmts []ast.Stmt) {
	w.frame = &frame{}
	w.block(stmts, &scope{})
	for i := 0; i < len(w.functions); i++ { // the loop may add functions
		if f := w.functions[i]; !f.walked {
			w.random.value = value{}
			w.invoke(f, values{open: true, rest: value{origin: unclear}})
		}
	}
}

// step counts a visit, and reports whether to continue.
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

// down enters a nested expression, and reports whether to continue.
func (w *walker) down(line int) bool {
	if w.depth++; w.depth > maxDepth && w.failed == nil {
		w.failed = &SyntaxError{line, "nested too deeply"}
	}
	return w.step(line)
}

func (w *walker) up() { w.depth-- }

// invoke evaluates a call of a function of the script.
func (w *walker) invoke(f *function, args values) values {
	if f.active >= maxSelf || w.calls >= maxCalls {
		return values{open: true, rest: value{origin: unclear}}
	}
	f.walked = true
	f.active++
	w.calls++
	outer, depth := w.frame, w.depth
	w.frame, w.depth = &frame{varargs: args.from(len(f.syntax.ParList.Names))}, 0
	inner := f.scope.inner()
	if f.syntax.ParList.HasVargs {
		inner.declare("arg", value{origin: unclear}) // Lua 5.1 still defines it for compatibility with 5.0
	}
	for i, name := range f.syntax.ParList.Names {
		inner.declare(name, args.at(i))
	}
	w.block(f.syntax.Stmts, inner)
	results := values{list: w.frame.results}
	w.set(w.random, join(w.random.value, w.frame.random))
	w.frame, w.depth = outer, depth
	w.calls--
	f.active--
	return results
}

// returns records the values that a function returns here.
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

// either follows the paths as branches.
func (w *walker) either(paths ...func() bool) bool {
	w.conditional++
	mark := len(w.changes)
	leaves := w.branches(paths...)
	w.conditional--
	w.steps += len(w.changes) - mark // many variables in many branches cost as much as a long script
	w.stopped = w.steps >= maxSteps
	return leaves
}

// loop follows the body not at all, once and twice.
func (w *walker) loop(body func() bool) {
	rounds := 2
	if w.loops >= maxLoops {
		rounds = 1
	}
	w.loops++
	for range rounds {
		w.perhaps(body)
	}
	w.loops--
}

// perhaps follows a path that may not be taken.
func (w *walker) perhaps(path func() bool) { w.either(path, func() bool { return false }) }
