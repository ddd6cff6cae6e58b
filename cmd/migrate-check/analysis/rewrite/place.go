package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// loop is a loop that does nothing but try again as long as somebody else was quicker.
type loop struct {
	stmt  ast.Stmt
	after *ast.ReturnStmt // what is returned when it has tried too often; nil if it never gives up
}

// findLoop finds the loop around, if there is one.
func (w *watch) findLoop() {
	var list []ast.Stmt
	var body *ast.BlockStmt
	for i, n := range w.path {
		if _, ok := n.(*ast.FuncLit); ok {
			return
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			body = n.Body
			if n.Cond != nil && !w.counts(n) {
				return
			}
		case *ast.RangeStmt:
			body = n.Body
			if t, ok := w.info.TypeOf(n.X).Underlying().(*types.Basic); !ok || t.Info()&types.IsInteger == 0 || !w.positive(n.X) {
				return
			}
			if n.Key != nil && len(w.usesIn(n.Body, w.object(n.Key))) > 0 {
				return
			}
		default:
			continue
		}
		if within(w.fn, n.Pos()) || !w.triesAgain(body) {
			return
		}
		if outer, ok := w.path[i+1].(*ast.BlockStmt); ok {
			list = outer.List
		}
		found := &loop{stmt: n.(ast.Stmt)}
		if f, ok := n.(*ast.ForStmt); ok && f.Cond == nil {
			if f.Init == nil && f.Post == nil {
				w.loop = found
			}
			return
		}
		for i, stmt := range list {
			if stmt == found.stmt && i+1 < len(list) {
				found.after, _ = list[i+1].(*ast.ReturnStmt)
			}
		}
		if found.after != nil && len(found.after.Results) == 1 {
			w.loop = found
		}
		return
	}
}

// counts reports whether a loop is for i := 0; i < n; i++, and i is not used.
func (w *watch) counts(n *ast.ForStmt) bool {
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 {
		return false
	}
	i := w.object(init.Lhs[0])
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS && cond.Op != token.LEQ || w.object(cond.X) != i || !w.positive(cond.Y) {
		return false
	}
	if v := w.info.Types[init.Rhs[0]].Value; v == nil || constant.Compare(v, token.GTR, constant.MakeInt64(1)) {
		return false
	}
	post, ok := n.Post.(*ast.IncDecStmt)
	return ok && post.Tok == token.INC && w.object(post.X) == i && len(w.usesIn(n.Body, i)) == 0
}

// positive reports whether a number is known and at least two: so a loop runs.
func (w *watch) positive(e ast.Expr) bool {
	v := w.info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Compare(v, token.GEQ, constant.MakeInt64(2))
}

// triesAgain reports whether the body of a loop calls Watch, tries again on a conflict, and
// returns anything else.
func (w *watch) triesAgain(body *ast.BlockStmt) bool {
	list := body.List
	if len(list) == 0 {
		return false
	}
	if n, ok := list[0].(*ast.IfStmt); ok && len(list) == 1 && n.Else == nil { // if err := Watch; err != TxFailedErr { return err }
		err, ok := w.result(n.Init)
		return ok && w.is(n.Cond, err, "TxFailedErr", true) && w.returns(n.Body, err)
	}
	err, ok := w.result(list[0])
	if !ok {
		return false
	}
	list = list[1:]
	if len(list) > 0 {
		n, ok := list[0].(*ast.IfStmt) // if err == nil { return nil }
		if ok && n.Init == nil && n.Else == nil && w.compares(n.Cond, token.EQL, err) && w.returns(n.Body, nil) {
			list = list[1:]
		}
	}
	if len(list) == 0 {
		return false
	}
	n, ok := list[0].(*ast.IfStmt)
	if !ok || n.Init != nil || n.Else != nil {
		return false
	}
	if w.is(n.Cond, err, "TxFailedErr", true) {
		return len(list) == 1 && w.returns(n.Body, err)
	}
	if len(list) != 2 || !w.is(n.Cond, err, "TxFailedErr", false) || len(n.Body.List) != 1 {
		return false
	}
	again, ok := n.Body.List[0].(*ast.BranchStmt)
	if !ok || again.Tok != token.CONTINUE || again.Label != nil {
		return false
	}
	ret, ok := list[1].(*ast.ReturnStmt)
	return ok && len(ret.Results) == 1 && w.object(ret.Results[0]) == err
}

// exact reports whether the loop does not see a conflict that has more words around it.
func (w *watch) exact() bool {
	found := false
	ast.Inspect(w.loop.stmt, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && w.isName(b.Y, w.redis, "TxFailedErr") {
			found = true
		}
		return n != ast.Node(w.fn)
	})
	return found
}

// result reports whether a statement is err := Watch.
func (w *watch) result(stmt ast.Stmt) (types.Object, bool) {
	n, ok := stmt.(*ast.AssignStmt)
	if !ok || len(n.Lhs) != 1 || len(n.Rhs) != 1 || n.Tok != token.DEFINE || ast.Unparen(n.Rhs[0]) != ast.Expr(w.call) {
		return nil, false
	}
	err := w.object(n.Lhs[0])
	return err, err != nil
}

// returns reports whether a block does nothing but return err; or nil, if err is nil.
func (w *watch) returns(block *ast.BlockStmt, err types.Object) bool {
	if len(block.List) != 1 {
		return false
	}
	ret, ok := block.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	if err == nil {
		return w.isNil(ret.Results[0])
	}
	return w.object(ret.Results[0]) == err
}

// placeUpdate puts an update where the call stands: it has two results.
func (w *watch) placeUpdate(store, key string) error {
	arg := w.call.Args[1]
	head := fmt.Sprintf("%s.Update(%s, %s, ", store, w.of(w.ctx), key)
	if w.loop != nil {
		return w.placeLoop(head)
	}
	switch n := w.parent().(type) {
	case *ast.ExprStmt:
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
			return errors.New("its result is assigned in an unusual way")
		}
		w.insert(n.Pos(), "_, ")
	case *ast.ReturnStmt:
		if len(n.Results) != 1 {
			return errors.New("its result is returned beside others")
		}
		if err := w.inBlock(); err != nil {
			return err
		}
		assign, name := w.errName()
		w.replacePart(n.Pos(), arg.Pos(), fmt.Sprintf("_, %s %s %s", name, assign, head))
		w.replacePart(arg.End(), w.call.End(), ")")
		w.replacePart(w.call.End(), n.End(), fmt.Sprintf("\nreturn %s", name))
		return nil
	default:
		return errors.New("its result is part of an expression")
	}
	w.replacePart(w.call.Pos(), arg.Pos(), head)
	w.replacePart(arg.End(), w.call.End(), ")")
	return nil
}

// inBlock refuses where there is no room for a second statement.
func (w *watch) inBlock() error {
	for i, n := range w.path {
		if _, ok := n.(*ast.ReturnStmt); ok {
			switch w.path[i+1].(type) {
			case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
				return nil
			}
		}
	}
	return errors.New("there is no room for a second statement")
}

// placeLoop puts an update in the place of the loop around it.
func (w *watch) placeLoop(head string) error {
	if _, typ := w.inner(); typ.Results.NumFields() != 1 {
		return errors.New("the loop around it returns other things, too")
	}
	arg, stmt, assign, name := w.call.Args[1], w.loop.stmt, ":=", "err"
	w.below = stmt
	// The innermost scope at its beginning is the loop's own.
	scope := w.pass.Pkg.Scope().Innermost(stmt.Pos())
	if scope != nil && scope.Pos() == stmt.Pos() {
		scope = scope.Parent()
	}
	if scope != nil && scope.Lookup("err") != nil {
		return errors.New("there is an err before the loop")
	}
	w.replace(stmt.Pos(), arg.Pos(), fmt.Sprintf("_, %s %s %s", name, assign, head))
	w.replacePart(arg.End(), w.call.End(), ")")
	if w.loop.after == nil {
		w.replace(w.call.End(), stmt.End(), fmt.Sprintf("\nreturn %s", name))
		return nil
	}
	after := w.loop.after
	errs, err := w.name("errors", stmt.Pos())
	if err != nil {
		return err
	}
	rmw, err := w.name(rmwPath, stmt.Pos())
	if err != nil {
		return err
	}
	w.replace(w.call.End(), after.End(), fmt.Sprintf("\nif %s.Is(%s, %s.ErrContended) {\nreturn %s\n}\nreturn %s",
		errs, name, rmw, w.of(after.Results[0]), name))
	return nil
}

// errName returns how to assign an error at the call: to a new variable, or to the one
// of that name in the same scope.
func (w *watch) errName() (assign, name string) {
	scope := w.pass.Pkg.Scope().Innermost(w.call.Pos())
	if scope == nil {
		return ":=", w.fresh("err")
	}
	obj := scope.Lookup("err")
	switch {
	case obj == nil:
		return ":=", "err"
	case types.Identical(obj.Type(), types.Universe.Lookup("error").Type()) && obj.Pos() < w.call.Pos():
		return "=", "err"
	}
	return ":=", w.fresh("failure")
}
