package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// asSoon refuses what could be noticed when the WATCH fails, which it does not do any more: the
// first read has to fail in its place, before anything has happened, with the same context, and
// its error has to come out.
func (w *watch) asSoon() error {
	switch w.parent().(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return fmt.Errorf("it is called later, when %s may be another", w.of(w.client))
	}
	for _, use := range w.uses {
		if len(use.call.Args) == 0 || !w.same(w.ctx, use.call.Args[0]) || !w.plain(w.ctx) && !w.background(w.ctx) {
			return fmt.Errorf("%s has another context than the Watch", use.name)
		}
	}
	list := w.fn.Body.List
	for len(list) > 0 && w.harmless(list[0]) {
		list = list[1:]
	}
	if len(list) == 0 || !within(list[0], w.uses[0].call.Pos()) {
		return errors.New("something happens before the first read, and would also without a connection")
	}
	if ret, ok := list[0].(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
		if call, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr); ok && w.convOf(call) == "Err" {
			return nil
		}
	}
	swallowed := errors.New("an error of the first read does not come out at once, as one of the WATCH does")
	if n, ok := list[0].(*ast.IfStmt); ok { // if err := read; err != nil { return err }
		init, ok := n.Init.(*ast.AssignStmt)
		if !ok {
			return swallowed
		}
		bare := *n
		bare.Init = nil
		if err := w.readInto(init); err != nil && w.comesOut(&bare, err) {
			return nil
		}
		return swallowed
	}
	n, ok := list[0].(*ast.AssignStmt)
	if !ok {
		return swallowed
	}
	err := w.readInto(n)
	if err == nil {
		return swallowed
	}
	for _, stmt := range list[1:] {
		if ret, ok := stmt.(*ast.ReturnStmt); ok && len(ret.Results) == 1 && w.object(ret.Results[0]) == err || w.comesOut(stmt, err) {
			return nil
		}
		if !w.harmless(stmt) || len(w.usesIn(stmt, err)) > 0 {
			return swallowed
		}
	}
	return swallowed
}

// comesOut reports whether a statement returns an error, unless it is redis.Nil.
func (w *watch) comesOut(stmt ast.Stmt, err types.Object) bool {
	if _, ok := w.failed(stmt, err); ok {
		return true
	}
	n, ok := stmt.(*ast.IfStmt)
	if !ok || n.Init != nil || n.Else != nil {
		return false
	}
	b, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr)
	if !ok || b.Op != token.LAND || !w.compares(b.X, token.NEQ, err) || !w.is(b.Y, err, "Nil", true) {
		return false
	}
	_, ok = w.passes(n.Body, err)
	return ok
}

// readInto returns the variable that gets the error of the first read.
func (w *watch) readInto(n *ast.AssignStmt) types.Object {
	if len(n.Rhs) != 1 || n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
		return nil
	}
	call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
	if !ok || w.convOf(call) == "" {
		return nil
	}
	return w.object(n.Lhs[len(n.Lhs)-1])
}

// convOf is the method by which a call takes the answer of the first read; "" if it is none.
func (w *watch) convOf(call *ast.CallExpr) string {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || ast.Unparen(sel.X) != ast.Expr(w.uses[0].call) {
		return ""
	}
	return sel.Sel.Name
}

// harmless reports whether a statement declares or assigns plain values, and nothing else.
func (w *watch) harmless(stmt ast.Stmt) bool {
	switch n := stmt.(type) {
	case *ast.DeclStmt:
		fine := true
		ast.Inspect(n, func(n ast.Node) bool {
			if e, ok := n.(*ast.ValueSpec); ok {
				for _, v := range e.Values {
					fine = fine && w.plain(v)
				}
			}
			return true
		})
		return fine
	case *ast.AssignStmt:
		for _, e := range n.Rhs {
			if !w.plain(e) {
				return false
			}
		}
		for _, e := range n.Lhs {
			if w.object(e) == nil {
				return false
			}
		}
		return n.Tok == token.DEFINE || len(w.uses) > 0 && n.Pos() > w.uses[0].call.Pos()
	}
	return false
}
