package symbolic

import (
	"go/ast"
	"go/token"
	"go/types"
)

// history lists the assignments of a package.
type history struct {
	info   *types.Info
	files  []*ast.File
	vars   map[*types.Var]*assigned
	fields map[ast.Decl]map[*types.Var]bool // assigned fields, by declaration
}

// assigned is the history of one variable.
type assigned struct {
	times int
	value ast.Expr // the last; nil if no single expression gives it
}

func newHistory(info *types.Info, files []*ast.File) *history {
	h := &history{info: info, files: files, vars: map[*types.Var]*assigned{}, fields: map[ast.Decl]map[*types.Var]bool{}}
	for _, file := range files {
		for _, decl := range file.Decls {
			for n := range ast.Preorder(decl) {
				h.node(decl, n)
			}
		}
	}
	return h
}

func (h *history) node(decl ast.Decl, n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		h.given(decl, n.Recv)
	case *ast.FuncType:
		h.given(decl, n.Params)
		h.given(decl, n.Results)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			var value ast.Expr
			if len(n.Lhs) == len(n.Rhs) && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
				value = n.Rhs[i]
			}
			h.assign(decl, left, value)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			var value ast.Expr
			if i < len(n.Values) && len(n.Names) == len(n.Values) {
				value = n.Values[i]
			}
			h.assign(decl, name, value)
		}
	case *ast.RangeStmt:
		h.assign(decl, n.Key, nil)
		h.assign(decl, n.Value, nil)
	case *ast.IncDecStmt:
		h.assign(decl, n.X, nil)
	case *ast.UnaryExpr:
		if n.Op == token.AND { // its address permits any number of assignments
			h.assign(decl, n.X, nil)
			h.assign(decl, n.X, nil)
		}
	}
}

// given notes parameters and results, which have a value from the beginning.
func (h *history) given(decl ast.Decl, fields *ast.FieldList) {
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			h.assign(decl, name, nil)
		}
	}
}

func (h *history) assign(decl ast.Decl, left, value ast.Expr) {
	if left == nil {
		return
	}
	switch left := ast.Unparen(left).(type) {
	case *ast.Ident:
		v, ok := h.info.ObjectOf(left).(*types.Var)
		if !ok {
			return
		}
		a := h.vars[v]
		if a == nil {
			a = &assigned{}
			h.vars[v] = a
		}
		a.times++
		a.value = value
	case *ast.SelectorExpr:
		if v, ok := h.info.Uses[left.Sel].(*types.Var); ok {
			if h.fields[decl] == nil {
				h.fields[decl] = map[*types.Var]bool{}
			}
			h.fields[decl][v] = true
		}
	case *ast.IndexExpr: // an element counts as the variable: see List
		h.assign(decl, left.X, nil)
	}
}

// once reports whether a variable keeps its first value, and returns the expression of that value. It is nil for a
// parameter and for a variable of another package.
func (h *history) once(v *types.Var) (value ast.Expr, ok bool) {
	a := h.vars[v]
	switch {
	case a == nil:
		return nil, true
	case a.times == 1:
		return a.value, true
	}
	return nil, false
}

// steady reports whether the function around a position does not assign a field.
func (h *history) steady(field *types.Var, at token.Pos) bool {
	for decl, fields := range h.fields {
		if decl.Pos() <= at && at < decl.End() && fields[field] {
			return false
		}
	}
	return true
}
