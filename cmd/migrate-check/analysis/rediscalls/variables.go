package rediscalls

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// uses is what a package does to a variable.
type uses struct {
	values []ast.Expr // that are assigned to it
	firsts []ast.Expr // that are assigned to its first element
	ranges []ast.Expr // whose elements are
	param  bool       // its first value is the caller's
	open   bool       // others may be assigned, elsewhere or in ways not followed
}

// uses returns what is done to a variable; nil if that is not for this package to say.
func (f *finder) uses(v *types.Var) *uses {
	if v.Pkg() != f.pass.Pkg || v.IsField() {
		return nil
	}
	if v.Parent() == f.pass.Pkg.Scope() && v.Exported() {
		return nil // another package may assign to it
	}
	if f.assigned == nil {
		f.assigned = map[*types.Var]*uses{}
		for _, file := range f.pass.Files {
			ast.Inspect(file, f.collect)
		}
	}
	return f.assigned[v]
}

// of returns the uses of the variable that an expression names; of what is none, and of _,
// others that nobody looks at.
func (f *finder) of(e ast.Expr) *uses {
	ident, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return &uses{}
	}
	v, ok := f.pass.TypesInfo.ObjectOf(ident).(*types.Var)
	if !ok {
		return &uses{}
	}
	if f.assigned[v] == nil {
		f.assigned[v] = &uses{}
	}
	return f.assigned[v]
}

// collect notes what a node does to variables.
func (f *finder) collect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		for _, field := range n.Type.Params.List {
			for _, name := range field.Names {
				f.of(name).param = true
			}
		}
		if n.Type.Results != nil {
			for _, field := range n.Type.Results.List {
				for _, name := range field.Names {
					f.of(name).open = true
				}
			}
		}
	case *ast.FuncLit:
		for _, field := range n.Type.Params.List {
			for _, name := range field.Names {
				f.of(name).open = true // who calls it is not known
			}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			f.assign(n, i, left)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			u := f.of(name)
			switch {
			case len(n.Values) == len(n.Names):
				u.values = append(u.values, n.Values[i])
			case len(n.Values) > 0:
				u.open = true
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			u := f.of(n.Value)
			u.ranges = append(u.ranges, n.X)
		}
		if n.Key != nil {
			f.of(n.Key).open = true
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			f.of(n.X).open = true // whoever has its address may assign to it
		}
	}
	return true
}

// assign notes one of the assignments of a statement.
func (f *finder) assign(n *ast.AssignStmt, i int, left ast.Expr) {
	if index, ok := ast.Unparen(left).(*ast.IndexExpr); ok {
		u := f.of(index.X)
		at := f.pass.TypesInfo.Types[index.Index].Value
		// Where it is not known which element, it is more likely one of the others, in a loop.
		if at != nil && at.Kind() == constant.Int && constant.Sign(at) == 0 && len(n.Rhs) == len(n.Lhs) {
			u.firsts = append(u.firsts, n.Rhs[i])
		}
		return
	}
	u := f.of(left)
	switch {
	case len(n.Rhs) != len(n.Lhs) || n.Tok != token.ASSIGN && n.Tok != token.DEFINE:
		u.open = true
	default:
		u.values = append(u.values, n.Rhs[i])
	}
}
