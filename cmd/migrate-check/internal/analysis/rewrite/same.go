package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
)

// same reports whether two expressions are the same, of the same variables.
func (s *source) same(a, b ast.Expr) bool {
	a, b = ast.Unparen(a), ast.Unparen(b)
	if x, y := s.info.Types[a].Value, s.info.Types[b].Value; x != nil && y != nil {
		return x.ExactString() == y.ExactString()
	}
	switch a := a.(type) {
	case *ast.Ident:
		obj := s.info.ObjectOf(a)
		return obj != nil && obj == s.object(b)
	case *ast.SelectorExpr:
		b, ok := b.(*ast.SelectorExpr)
		return ok && s.info.ObjectOf(a.Sel) == s.info.ObjectOf(b.Sel) && s.same(a.X, b.X)
	case *ast.BinaryExpr:
		b, ok := b.(*ast.BinaryExpr)
		return ok && a.Op == b.Op && s.same(a.X, b.X) && s.same(a.Y, b.Y)
	case *ast.IndexExpr:
		b, ok := b.(*ast.IndexExpr)
		return ok && s.same(a.X, b.X) && s.same(a.Index, b.Index)
	case *ast.CallExpr:
		b, ok := b.(*ast.CallExpr)
		if !ok || len(a.Args) != len(b.Args) || a.Ellipsis.IsValid() != b.Ellipsis.IsValid() || !s.same(a.Fun, b.Fun) {
			return false
		}
		for i := range a.Args {
			if !s.same(a.Args[i], b.Args[i]) {
				return false
			}
		}
		return true
	case *ast.ArrayType:
		b, ok := b.(*ast.ArrayType)
		return ok && a.Len == nil && b.Len == nil && s.same(a.Elt, b.Elt)
	}
	return false
}

// depth is how many functions deep a function is looked into.
const depth = 3

// plain reports whether an expression can be evaluated whenever one likes, and as often: it
// has no effect, and its value does not change by itself.
func (s *source) plain(e ast.Expr) bool { return s.plainIn(e, depth) }

func (s *source) plainIn(e ast.Expr, deep int) bool {
	e = ast.Unparen(e)
	if s.info.Types[e].Value != nil || s.info.Types[e].IsType() {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident:
		switch s.info.ObjectOf(e).(type) {
		case *types.Var, *types.Nil, *types.Const:
			return true
		}
	case *ast.SelectorExpr:
		if _, ok := s.info.ObjectOf(e.Sel).(*types.Var); !ok {
			return false
		}
		if id, ok := e.X.(*ast.Ident); ok {
			if _, ok := s.info.Uses[id].(*types.PkgName); ok {
				return true
			}
		}
		return s.plainIn(e.X, deep)
	case *ast.BinaryExpr:
		return e.Op != token.QUO && e.Op != token.REM && s.plainIn(e.X, deep) && s.plainIn(e.Y, deep)
	case *ast.UnaryExpr:
		return e.Op != token.ARROW && e.Op != token.AND && s.plainIn(e.X, deep)
	case *ast.CallExpr:
		return s.plainCall(e, deep)
	}
	return false
}

// plainCall is about a conversion, a function that makes texts of numbers and texts, or one of
// this package that is nothing but an expression, as those that name keys are.
func (s *source) plainCall(call *ast.CallExpr, deep int) bool {
	for _, arg := range call.Args {
		if !s.plainIn(arg, deep) {
			return false
		}
	}
	if s.info.Types[call.Fun].IsType() {
		return true
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && id.Name == "len" {
		_, ok := s.info.Uses[id].(*types.Builtin)
		return ok
	}
	fn := s.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	sig := fn.Signature()
	switch fn.Pkg().Path() {
	case "strconv", "strings":
		return sig.Recv() == nil && !takesFunc(sig)
	case "fmt":
		// Of another type, it may call a method.
		for _, arg := range call.Args {
			if _, ok := types.Unalias(s.info.TypeOf(arg)).(*types.Basic); !ok {
				return false
			}
		}
		return fn.Name() == "Sprintf" || fn.Name() == "Sprint"
	}
	decl := s.declOf(fn)
	if decl == nil || deep == 0 || len(decl.Body.List) != 1 {
		return false
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil && !s.plainIn(sel.X, deep) {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	return ok && len(ret.Results) == 1 && s.plainIn(ret.Results[0], deep-1)
}

func takesFunc(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

// declOf finds the declaration of a function of this package; nil if it has no body.
func (s *source) declOf(fn *types.Func) *ast.FuncDecl {
	if fn.Pkg() != s.pass.Pkg {
		return nil
	}
	for _, file := range s.pass.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil && s.info.Defs[decl.Name] == fn.Origin() {
				return decl
			}
		}
	}
	return nil
}

// vars are the variables and fields in an expression.
func (s *source) vars(e ast.Expr) map[types.Object]bool {
	found := map[types.Object]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := s.info.ObjectOf(id).(*types.Var); ok {
				found[v] = true
			}
		}
		return true
	})
	return found
}

// assigns reports whether a variable, or a part of it, is assigned in a part of the file.
func (s *source) assigns(n ast.Node, v types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				found = found || s.root(lhs) == v
			}
		case *ast.RangeStmt:
			for _, lhs := range []ast.Expr{n.Key, n.Value} {
				found = found || lhs != nil && n.Tok == token.ASSIGN && s.root(lhs) == v
			}
		case *ast.IncDecStmt:
			found = found || s.root(n.X) == v
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && s.root(n.X) == v
		}
		return true
	})
	return found
}
