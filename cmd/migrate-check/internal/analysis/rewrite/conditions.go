package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// is reports whether a condition is err == name or errors.Is(err, name), of a name of the
// client's package; with not, their opposite.
func (w *watch) is(cond ast.Expr, err types.Object, name string, not bool) bool {
	cond = ast.Unparen(cond)
	op := token.EQL
	if not {
		op = token.NEQ
		if n, ok := cond.(*ast.UnaryExpr); ok && n.Op == token.NOT {
			return w.isCall(n.X, err, name)
		}
	} else if w.isCall(cond, err, name) {
		return true
	}
	b, ok := cond.(*ast.BinaryExpr)
	return ok && b.Op == op && w.object(b.X) == err && w.isName(b.Y, w.redis, name)
}

func (w *watch) isCall(e ast.Expr, err types.Object, name string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return false
	}
	fn := w.callee(call)
	return fn != nil && fn.FullName() == "errors.Is" && w.object(call.Args[0]) == err && w.isName(call.Args[1], w.redis, name)
}

// compares reports whether a condition is err == nil, or err != nil.
func (s *source) compares(cond ast.Expr, op token.Token, err types.Object) bool {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	return ok && b.Op == op && s.object(b.X) == err && s.isNil(b.Y)
}

// failed reports whether a statement is if err != nil { return err }; what it returns may be
// err with more words. It has no else, unless rest is given, which gets it.
func (w *watch) failed(stmt ast.Stmt, err types.Object) (ret *ast.ReturnStmt, ok bool) {
	n, ok := stmt.(*ast.IfStmt)
	if !ok || n.Init != nil || n.Else != nil || !w.compares(n.Cond, token.NEQ, err) {
		return nil, false
	}
	return w.passes(n.Body, err)
}

// passes reports whether a block does nothing but return an error, as it is or with more words
// around it: errors.Is finds the same in it.
func (w *watch) passes(block *ast.BlockStmt, err types.Object) (*ast.ReturnStmt, bool) {
	if len(block.List) != 1 {
		return nil, false
	}
	ret, ok := block.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil, false
	}
	if w.object(ret.Results[0]) == err {
		return ret, true
	}
	call, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr)
	if !ok || len(call.Args) < 2 || call.Ellipsis.IsValid() {
		return nil, false
	}
	fn := w.callee(call)
	if fn == nil || fn.FullName() != "fmt.Errorf" || w.object(call.Args[len(call.Args)-1]) != err {
		return nil, false
	}
	for _, arg := range call.Args[1 : len(call.Args)-1] {
		if !w.plain(arg) || len(w.usesIn(arg, err)) > 0 {
			return nil, false
		}
	}
	format := w.info.Types[call.Args[0]].Value
	if format == nil {
		return nil, false
	}
	text, uerr := strconv.Unquote(format.ExactString())
	// The last verb is the only one that wraps, and it is for the last argument.
	return ret, uerr == nil && strings.Count(text, "%w") == 1 &&
		strings.LastIndexByte(text, '%') == strings.Index(text, "%w") &&
		strings.Count(text, "%") == len(call.Args)-1
}

// ends reports whether a block ends with a return.
func ends(block *ast.BlockStmt) bool {
	if len(block.List) == 0 {
		return false
	}
	_, ok := block.List[len(block.List)-1].(*ast.ReturnStmt)
	return ok
}
