package scriptcheck

import "github.com/yuin/gopher-lua/ast"

// block follows statements, and reports whether they leave the function.
func (w *walker) block(stmts []ast.Stmt, s *scope) (leaves bool) {
	for _, stmt := range stmts {
		if !w.down(stmt.Line()) {
			w.up()
			return leaves
		}
		if w.statement(stmt, s) {
			leaves = true
		}
		w.up()
	}
	return leaves
}

func (w *walker) statement(stmt ast.Stmt, s *scope) (leaves bool) {
	switch stmt := stmt.(type) {
	case *ast.LocalAssignStmt:
		w.local(stmt, s)
	case *ast.AssignStmt:
		right := w.list(stmt.Rhs, s)
		for i, left := range stmt.Lhs {
			w.assign(left, right.at(i), s)
		}
	case *ast.FuncCallStmt:
		w.list([]ast.Expr{stmt.Expr}, s)
		return fails(stmt.Expr, s)
	case *ast.DoBlockStmt:
		return w.block(stmt.Stmts, s.inner())
	case *ast.WhileStmt:
		w.loop(func() bool {
			w.condition(stmt.Condition, s)
			return w.block(stmt.Stmts, s.inner())
		})
	case *ast.RepeatStmt:
		body := func() bool {
			inner := s.inner()
			leaves := w.block(stmt.Stmts, inner)
			w.condition(stmt.Condition, inner)
			return leaves
		}
		leaves = body()
		w.loop(body)
		return leaves
	case *ast.IfStmt:
		w.condition(stmt.Condition, s)
		return w.either(
			func() bool { return w.block(stmt.Then, s.inner()) },
			func() bool { return w.otherwise(stmt.Else, s.inner()) })
	case *ast.NumberForStmt:
		w.list([]ast.Expr{stmt.Init, stmt.Limit}, s)
		if stmt.Step != nil {
			w.eval(stmt.Step, s)
		}
		w.loop(func() bool {
			inner := s.inner()
			inner.declare(stmt.Name, value{origin: computed})
			return w.block(stmt.Stmts, inner)
		})
	case *ast.GenericForStmt:
		w.generic(stmt, s)
	case *ast.FuncDefStmt:
		w.define(stmt, s)
	case *ast.ReturnStmt:
		w.returned(stmt, s)
		return true
	case *ast.LabelStmt, *ast.GotoStmt:
		w.failed = &SyntaxError{stmt.Line(), "Lua 5.1 has no goto"}
	}
	return false
}

// otherwise follows the block after else or an elseif. The parser turns an elseif into an if, but a chain
// of these does not count as nested.
func (w *walker) otherwise(stmts []ast.Stmt, s *scope) (leaves bool) {
	if len(stmts) != 1 {
		return w.block(stmts, s)
	}
	chained, ok := stmts[0].(*ast.IfStmt)
	if !ok || w.chained >= maxChained {
		return w.block(stmts, s)
	}
	if !w.step(chained.Line()) {
		return false
	}
	w.chained++
	defer func() { w.chained-- }()
	return w.statement(chained, s)
}

func (w *walker) local(stmt *ast.LocalAssignStmt, s *scope) {
	if len(stmt.Names) == 1 && len(stmt.Exprs) == 1 {
		if f, ok := stmt.Exprs[0].(*ast.FunctionExpr); ok {
			// A local function f may call itself. local f = function is treated the same.
			s.declare(stmt.Names[0], value{})
			s.names[stmt.Names[0]].value = w.eval(f, s)
			return
		}
	}
	right := w.list(stmt.Exprs, s)
	for i, name := range stmt.Names {
		s.declare(name, right.at(i))
	}
}

func (w *walker) assign(left ast.Expr, v value, s *scope) {
	switch left := left.(type) {
	case *ast.IdentExpr:
		w.assignName(left, v, s)
	case *ast.AttrGetExpr:
		object := w.eval(left.Object, s)
		index := w.eval(left.Key, s)
		switch {
		case object.origin == allKeys:
			w.changesKeys(left.Line())
		case object.origin == library:
			w.changesLibrary(left.Line(), object.name)
		case object.origin != tabular:
		case appends(left):
			w.append(object.table, v)
		default:
			object.table.put(index, v)
		}
	}
}

func (w *walker) assignName(name *ast.IdentExpr, v value, s *scope) {
	variable := s.find(name.Value)
	if variable == nil {
		w.changesGlobal(name)
		outermost := s
		for outermost.outer != nil {
			outermost = outermost.outer
		}
		before, _ := globalOf(name.Value)
		outermost.declare(name.Value, before)
		variable = outermost.names[name.Value]
	}
	w.set(variable, v)
}

func (w *walker) changesKeys(line int) {
	if w.sharded {
		w.add(line, CannotTell, "KEYS", "a variable of another name", "KEYS is changed, so it no longer holds the declared keys")
	}
}

// certain reports whether the current statement is executed exactly once.
func (w *walker) certain() bool { return w.conditional == 0 && w.calls == 0 }

// append evaluates t[#t+1] = v. If it is executed exactly once, the index is known.
func (w *walker) append(t *table, v value) {
	if w.certain() {
		t.push(v)
	} else {
		t.add(v)
	}
}

func appends(left *ast.AttrGetExpr) bool {
	list, named := left.Object.(*ast.IdentExpr)
	sum, ok := left.Key.(*ast.ArithmeticOpExpr)
	if !named || !ok || sum.Operator != "+" {
		return false
	}
	length, ok := sum.Lhs.(*ast.UnaryLenOpExpr)
	if !ok {
		return false
	}
	of, ok := length.Expr.(*ast.IdentExpr)
	step, one := sum.Rhs.(*ast.NumberExpr)
	return ok && one && of.Value == list.Value && step.Value == "1"
}

func (w *walker) define(stmt *ast.FuncDefStmt, s *scope) {
	if stmt.Name.Method != "" {
		// A method has self as an additional parameter.
		syntax := *stmt.Func
		names := append([]string{"self"}, stmt.Func.ParList.Names...)
		syntax.ParList = &ast.ParList{HasVargs: stmt.Func.ParList.HasVargs, Names: names}
		if object := w.eval(stmt.Name.Receiver, s); object.origin == tabular {
			object.table.put(textOf(stmt.Name.Method), w.eval(&syntax, s))
		} else {
			w.eval(&syntax, s)
		}
		return
	}
	if name, ok := stmt.Name.Func.(*ast.IdentExpr); ok {
		w.assignName(name, value{}, s) // so that it can call itself
	}
	w.assign(stmt.Name.Func, w.eval(stmt.Func, s), s)
}

func (w *walker) returned(stmt *ast.ReturnStmt, s *scope) {
	w.frame.returns(w.list(stmt.Exprs, s))
	w.frame.random = join(w.frame.random, w.random.value)
	for _, e := range stmt.Exprs {
		if t, ok := e.(*ast.TableExpr); ok {
			w.errorTable(t, s)
		}
	}
}

// fails reports whether the expression is a call of error.
func fails(e ast.Expr, s *scope) bool {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok || call.Func == nil {
		return false
	}
	name, ok := call.Func.(*ast.IdentExpr)
	return ok && name.Value == "error" && s.find("error") == nil
}

// generic follows for … in ….
func (w *walker) generic(stmt *ast.GenericForStmt, s *scope) {
	index, element := w.iterated(stmt.Exprs, s)
	w.loop(func() bool {
		inner := s.inner()
		for i, name := range stmt.Names {
			switch i {
			case 0:
				inner.declare(name, index)
			case 1:
				inner.declare(name, element)
			default:
				inner.declare(name, value{origin: unclear})
			}
		}
		return w.block(stmt.Stmts, inner)
	})
}

// iterated returns the two variables of a loop.
func (w *walker) iterated(exprs []ast.Expr, s *scope) (index, element value) {
	index, element = value{origin: unclear}, value{origin: unclear}
	over := value{}
	line := 0
	switch call, isCall := exprs[0].(*ast.FuncCallExpr); {
	case isCall && call.Func != nil:
		line = call.Line()
		iterator := w.eval(call.Func, s)
		switch {
		case iterator.origin != library:
			w.list(exprs, s)
			return index, element
		case iterator.name == "ipairs" || iterator.name == "pairs":
			over = w.list(call.Args, s).at(0)
		default: // string.gmatch
			w.list(exprs, s)
			return value{origin: computed}, value{origin: computed}
		}
	case len(exprs) > 1: // for i, v in next, t do
		line = exprs[0].Line()
		if list := w.list(exprs, s); list.at(0).origin == library && list.at(0).name == "next" {
			over = list.at(1)
		}
	default:
		w.list(exprs, s)
	}
	switch over.origin {
	case allKeys:
		w.allOfKeys(line)
		return value{origin: computed}, value{origin: declared}
	case tabular:
		return over.table.names, over.table.all
	case argument, reply:
		return value{origin: computed}, over
	}
	return index, element
}
