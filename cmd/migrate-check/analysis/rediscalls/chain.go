package rediscalls

import (
	"go/ast"

	"golang.org/x/tools/go/ast/inspector"
)

// Chains are the methods that are called on what other calls return, as those of a builder.
type Chains map[*ast.CallExpr]*ast.CallExpr

// ChainsOf finds them.
func ChainsOf(in *inspector.Inspector) Chains {
	chains := Chains{}
	for n := range in.PreorderSeq((*ast.CallExpr)(nil)) {
		call := n.(*ast.CallExpr)
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if inner, ok := ast.Unparen(sel.X).(*ast.CallExpr); ok {
				chains[inner] = call
			}
		}
	}
	return chains
}

// Behind yields the names and the calls of the methods behind a call, in their order.
func (c Chains) Behind(call *ast.CallExpr) func(yield func(method string, call *ast.CallExpr) bool) {
	return func(yield func(string, *ast.CallExpr) bool) {
		for outer := c[call]; outer != nil; outer = c[outer] {
			if !yield(outer.Fun.(*ast.SelectorExpr).Sel.Name, outer) {
				return
			}
		}
	}
}
