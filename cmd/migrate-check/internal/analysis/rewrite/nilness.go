package rewrite

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// nilSeen refuses what could tell nil from no bytes: of an absent key a client's Bytes is nil, and
// what is made of a text is not.
func (u *update) nilSeen(v types.Object) error {
	if !within(u.fn, v.Pos()) {
		return fmt.Errorf("%s, which is declared outside, is nil for an absent key, and empty after an Update", v.Name())
	}
	var err error
	var stack []ast.Node
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if id, ok := n.(*ast.Ident); ok && err == nil && u.info.Uses[id] == v {
			if b, ok := stack[len(stack)-1].(*ast.BinaryExpr); ok && (u.isNil(b.X) || u.isNil(b.Y)) {
				err = fmt.Errorf("%s is compared with nil", v.Name())
			} else if !u.sameEmpty(id, stack) {
				err = fmt.Errorf("%s is nil for an absent key, and would be empty, which somebody may tell apart", v.Name())
			}
		}
		stack = append(stack, n)
		return true
	})
	return err
}

// sameEmpty reports whether it makes no difference at a place whether bytes are nil or none.
func (u *update) sameEmpty(use *ast.Ident, stack []ast.Node) bool {
	switch n := stack[len(stack)-1].(type) {
	case *ast.AssignStmt:
		if slices.Contains(n.Lhs, ast.Expr(use)) {
			return true
		}
	case *ast.IndexExpr:
		return n.X == ast.Expr(use)
	case *ast.RangeStmt:
		return n.X == ast.Expr(use)
	case *ast.CallExpr:
		switch {
		case n == u.uses[0].call || u.commits(n):
			return true
		case u.info.Types[n.Fun].IsType():
			return isString(u.info.TypeOf(n.Fun).Underlying())
		}
		if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok {
			if _, ok := u.info.Uses[id].(*types.Builtin); ok {
				return id.Name == "len" || id.Name == "copy" || id.Name == "append" && u.appended(n, use, stack)
			}
		}
		return u.tellsNot(n)
	}
	return false
}

// appended reports whether bytes are appended to others, or others to them and they are kept
// by the same name, which is looked at as they are.
func (u *update) appended(call *ast.CallExpr, use *ast.Ident, stack []ast.Node) bool {
	if call.Args[0] != ast.Expr(use) {
		return true
	}
	n, ok := stack[len(stack)-2].(*ast.AssignStmt)
	return ok && len(n.Lhs) == 1 && u.object(n.Lhs[0]) == u.info.Uses[use]
}

// tellsNot reports whether a function of the standard library makes the same of nil and of none:
// those do that do not return bytes.
func (u *update) tellsNot(call *ast.CallExpr) bool {
	fn := u.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "bytes", "strconv", "unicode/utf8":
	case "encoding/json":
		return fn.Name() == "Unmarshal" || fn.Name() == "Valid"
	case "encoding/hex", "encoding/base64":
		return fn.Name() == "EncodeToString"
	default:
		return false
	}
	for v := range fn.Signature().Results().Variables() {
		if !u.flat(v.Type()) {
			return false
		}
	}
	return fn.Signature().Results().Len() > 0
}

// commits reports whether a call is one of a pipeline that bytes are written by.
func (u *update) commits(call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := u.info.Uses[sel.Sel].(*types.Func)
	return ok && fn.Pkg() == u.redis && (fn.Name() == "Set" || fn.Name() == "HSet")
}
