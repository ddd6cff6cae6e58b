package rediscalls

import (
	"go/ast"
	"go/types"
	"iter"

	"golang.org/x/tools/go/analysis"
)

// Nodes yields all nodes of a package in preorder. A shared inspector would need as much memory as the types, and
// saves no time here.
func Nodes(pass *analysis.Pass) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		for _, file := range pass.Files {
			for n := range ast.Preorder(file) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// Decls yields the declared functions of a package, in the order of the source.
func Decls(pass *analysis.Pass) iter.Seq2[*types.Func, *ast.FuncDecl] {
	return func(yield func(*types.Func, *ast.FuncDecl) bool) {
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.FuncDecl); ok {
					if fn, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func); ok && !yield(fn, decl) {
						return
					}
				}
			}
		}
	}
}

// Each yields the nodes of a type in a tree, in preorder.
func Each[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := range ast.Preorder(root) {
			if n, ok := n.(N); ok && !yield(n) {
				return
			}
		}
	}
}

// Chains maps a call to the call of a method on its result, as of a builder.
type Chains map[*ast.CallExpr]*ast.CallExpr

// ChainsOf finds the chains of a package.
func ChainsOf(pass *analysis.Pass) Chains {
	chains := Chains{}
	for n := range Nodes(pass) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if inner, ok := ast.Unparen(sel.X).(*ast.CallExpr); ok {
				chains[inner] = call
			}
		}
	}
	return chains
}

// Behind yields the methods in the chain of a call, in their order.
func (c Chains) Behind(call *ast.CallExpr) func(yield func(method string, call *ast.CallExpr) bool) {
	return func(yield func(string, *ast.CallExpr) bool) {
		for outer := c[call]; outer != nil; outer = c[outer] {
			if !yield(outer.Fun.(*ast.SelectorExpr).Sel.Name, outer) {
				return
			}
		}
	}
}
