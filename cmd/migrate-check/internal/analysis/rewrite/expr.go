package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

// depth limits how many calls deep a function of the package is followed.
const depth = 3

// object returns the object of an identifier; nil for any other expression.
func (s *source) object(e ast.Expr) types.Object {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		return s.info.ObjectOf(id)
	}
	return nil
}

// method splits a call into its receiver and the name of the method; nil if it has none.
func method(e ast.Expr) (call *ast.CallExpr, recv ast.Expr, name string) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, nil, ""
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return call, nil, ""
	}
	return call, ast.Unparen(sel.X), sel.Sel.Name
}

// usesIn lists the uses of an object in a part of the file.
func (s *source) usesIn(n ast.Node, obj types.Object) (uses []*ast.Ident) {
	for id := range rediscalls.Each[*ast.Ident](n) {
		if s.info.Uses[id] == obj && obj != nil {
			uses = append(uses, id)
		}
	}
	return uses
}

// within reports whether a position is in a node.
func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

// isName reports whether an expression is a name of a package: redis.Nil.
func (s *source) isName(e ast.Expr, pkg *types.Package, name string) bool {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	return ok && s.info.Uses[sel.Sel] != nil && s.info.Uses[sel.Sel] == pkg.Scope().Lookup(name)
}

func (s *source) isNil(e ast.Expr) bool { return s.info.Types[ast.Unparen(e)].IsNil() }

// same reports whether two expressions are spelled alike and name the same objects, or are equal constants.
func (s *source) same(a, b ast.Expr) bool {
	if x, y := s.info.Types[a].Value, s.info.Types[b].Value; x != nil && y != nil {
		return x.ExactString() == y.ExactString()
	}
	return types.ExprString(ast.Unparen(a)) == types.ExprString(ast.Unparen(b)) && slices.Equal(s.objects(a), s.objects(b))
}

// objects lists the objects that an expression names, in their order.
func (s *source) objects(e ast.Expr) (all []types.Object) {
	for id := range rediscalls.Each[*ast.Ident](e) {
		all = append(all, s.info.ObjectOf(id))
	}
	return all
}

// vars is the set of variables and fields in some expressions.
func (s *source) vars(exprs ...ast.Expr) map[types.Object]bool {
	found := map[types.Object]bool{}
	for _, e := range exprs {
		for _, obj := range s.objects(e) {
			if _, ok := obj.(*types.Var); ok {
				found[obj] = true
			}
		}
	}
	return found
}

// target returns the variable or field that an assignment to an expression, or to a part of it, changes.
func (s *source) target(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return s.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return s.info.ObjectOf(e.Sel)
	case *ast.IndexExpr:
		return s.target(e.X)
	case *ast.SliceExpr:
		return s.target(e.X)
	case *ast.StarExpr:
		return s.target(e.X)
	}
	return nil
}

// assigned returns a variable of a set that a part of the file may change; nil if there is none. Taking its
// address may change a variable.
func (s *source) assigned(n ast.Node, vars map[types.Object]bool) (found types.Object) {
	ast.Inspect(n, func(n ast.Node) bool {
		var places []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			places = n.Lhs
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				places = []ast.Expr{n.Key, n.Value}
			}
		case *ast.IncDecStmt:
			places = []ast.Expr{n.X}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				places = []ast.Expr{n.X}
			}
		}
		for _, e := range places {
			if e == nil || found != nil {
				continue
			}
			if obj := s.target(e); vars[obj] {
				found = obj
			} else if t := s.info.TypeOf(e); t != nil {
				_, address := n.(*ast.UnaryExpr)
				if _, whole := t.Underlying().(*types.Struct); address || whole {
					found = holds(t, vars, map[types.Type]bool{})
				}
			}
		}
		return found == nil
	})
	return found
}

// holds returns a field of a set that a type has, also through other types. Another name of its variable may change it.
func holds(t types.Type, vars map[types.Object]bool, seen map[types.Type]bool) types.Object {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, or a map
		return holds(u.Elem(), vars, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if vars[f] {
				return f
			}
			if found := holds(f.Type(), vars, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// plain reports whether an expression has no effect, and the same value each time, unless its variables change.
func (s *source) plain(e ast.Expr) bool { return s.plainIn(e, depth) }

func (s *source) plainIn(e ast.Expr, deep int) bool {
	e = ast.Unparen(e)
	if s.info.Types[e].Value != nil || s.info.Types[e].IsType() {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident:
		switch s.info.ObjectOf(e).(type) {
		case *types.Var, *types.Nil, *types.PkgName:
			return true
		}
	case *ast.SelectorExpr:
		_, ok := s.info.ObjectOf(e.Sel).(*types.Var)
		return ok && s.plainIn(e.X, deep)
	case *ast.BinaryExpr:
		return e.Op != token.QUO && e.Op != token.REM && s.plainIn(e.X, deep) && s.plainIn(e.Y, deep)
	case *ast.UnaryExpr:
		return e.Op != token.ARROW && e.Op != token.AND && s.plainIn(e.X, deep)
	case *ast.CallExpr:
		return s.plainCall(e, deep)
	}
	return false
}

// plainCall accepts conversions, len, functions that make texts, and functions of the package that only return a plain
// expression, as those that name keys do.
func (s *source) plainCall(call *ast.CallExpr, deep int) bool {
	if slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return !s.plainIn(arg, deep) }) {
		return false
	}
	if s.info.Types[call.Fun].IsType() {
		return true
	}
	if b, ok := s.object(call.Fun).(*types.Builtin); ok {
		return b.Name() == "len"
	}
	fn := symbolic.Callee(s.info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "context":
		return fn.Name() == "Background" || fn.Name() == "TODO"
	case "strconv", "strings":
		return fn.Signature().Recv() == nil && !slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
			_, function := s.info.TypeOf(arg).Underlying().(*types.Signature)
			return function
		})
	case "fmt":
		// The text of any other type may come from a method.
		return strings.HasPrefix(fn.Name(), "Sprint") && !slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
			_, basic := types.Unalias(s.info.TypeOf(arg)).(*types.Basic)
			return !basic
		})
	}
	decl := s.declOf(fn)
	if decl == nil || deep == 0 || len(decl.Body.List) != 1 {
		return false
	}
	if _, recv, _ := method(call); fn.Signature().Recv() != nil && !s.plainIn(recv, deep) {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	return ok && len(ret.Results) == 1 && s.plainIn(ret.Results[0], deep-1)
}

// declOf finds the declaration of a function of this package; nil if there is none with a body.
func (s *source) declOf(fn *types.Func) *ast.FuncDecl {
	for declared, decl := range rediscalls.Decls(s.pass) {
		if declared == fn.Origin() && decl.Body != nil {
			return decl
		}
	}
	return nil
}

// typeName returns the name of a type of a package, or of the type it points to; "" for a type of another package.
func typeName(t types.Type, pkg *types.Package) string {
	if named := rediscalls.Named(t); named != nil && named.Obj().Pkg() == pkg {
		return named.Obj().Name()
	}
	return ""
}

// isOf reports whether a type is a named one of a package, by the path.
func isOf(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

func isString(t types.Type) bool {
	basic, ok := types.Unalias(t).(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
