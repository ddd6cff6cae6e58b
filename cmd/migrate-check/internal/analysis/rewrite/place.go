package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// onlyOnce makes the function return TxFailedErr when an Update calls it again: so a conflict
// is returned, and tried again or not, as it was with WATCH.
func (u *update) onlyOnce() error {
	stmt, err := u.beforeCall()
	if err != nil {
		return err
	}
	redis, err := u.name(u.redis.Path(), u.fn.Pos())
	if err != nil {
		return err
	}
	tried := u.fresh("tried", "begun")
	if u.fnVar == nil {
		u.insert(stmt.Pos(), tried+" := false\n")
	} else {
		u.insert(u.fnVar.Pos(), "var "+tried+" bool\n")
		u.insert(stmt.Pos(), tried+" = false\n")
	}
	u.insert(u.fn.Body.Lbrace+1, fmt.Sprintf("\n// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.\n"+
		"if %[1]s {\nreturn %[2]s, %[3]s.TxFailedErr\n}\n%[1]s = true", tried, u.cur, redis))
	return nil
}

// beforeCall returns the statement before which another one runs each time that the call does.
func (u *update) beforeCall() (ast.Stmt, error) {
	if body, _ := u.inner(); u.fnVar != nil && !within(body, u.fnVar.Pos()) {
		return nil, fmt.Errorf("%s is declared outside of the function that calls Watch", u.fnVar.Name())
	}
	stmts := u.statements()
	for _, n := range u.path[1:] {
		switch n.(type) {
		case *ast.ParenExpr, *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IfStmt, *ast.SwitchStmt:
		default:
			return nil, errors.New("its result is part of an expression, or it stands in the head of a loop or behind a label")
		}
		if len(stmts) > 0 && n == ast.Node(stmts[0]) {
			return stmts[0], nil
		}
	}
	return nil, errors.New("it is not called by a function")
}

// placeUpdate puts an update where the call stands: it has two results.
func (w *watch) placeUpdate(store, key string) error {
	arg := w.call.Args[1]
	head := fmt.Sprintf("%s.Update(%s, %s, ", store, w.of(w.ctx), key)
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
