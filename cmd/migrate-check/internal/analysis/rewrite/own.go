package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
)

// local reports whether a variable is declared in a function.
func (s *source) local(obj types.Object, fn ast.Node) bool { return within(fn, obj.Pos()) }

// root is the variable that an expression is a part of; nil if it is of none.
func (s *source) root(e ast.Expr) types.Object {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			if v, ok := s.info.ObjectOf(x).(*types.Var); ok {
				return v
			}
			return nil
		case *ast.SelectorExpr:
			if v, ok := s.info.ObjectOf(x.Sel).(*types.Var); ok && !v.IsField() {
				return v // of another package
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return nil
			}
			e = x.X
		default:
			return nil
		}
	}
}

// own reports whether a part of a local variable is the function's alone.
func (s *source) own(root types.Object, part ast.Expr) bool { return s.direct(part) || s.wholly(root) }

// direct reports whether a part of a variable lies in the variable itself.
func (s *source) direct(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		_, pointer := s.info.TypeOf(e.X).Underlying().(*types.Pointer)
		return !pointer && s.direct(e.X)
	case *ast.IndexExpr:
		_, array := s.info.TypeOf(e.X).Underlying().(*types.Array)
		return array && s.direct(e.X)
	}
	return false
}

// wholly reports whether all that a variable leads to is new: whatever it, or a part of it,
// was given. Another name of something outside is not.
func (s *source) wholly(root types.Object) bool {
	mine, seen := true, false
	ast.Inspect(s.around(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if s.info.Defs[name] != root {
					continue
				}
				seen = true
				if len(n.Values) > 0 {
					mine = mine && s.given(root, i, len(n.Names), n.Values)
				}
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if s.root(lhs) != root {
					continue
				}
				seen = seen || s.object(lhs) == root
				mine = mine && (s.flat(s.info.TypeOf(lhs)) || s.given(root, i, len(n.Lhs), n.Rhs))
			}
		case *ast.RangeStmt:
			for _, lhs := range []ast.Expr{n.Key, n.Value} {
				if lhs != nil && s.root(lhs) == root {
					seen = seen || s.object(lhs) == root
					mine = mine && s.flat(s.info.TypeOf(lhs))
				}
			}
		}
		return true
	})
	return mine && seen
}

// given reports whether what the i-th variable of several is given is new.
func (s *source) given(root types.Object, i, of int, values []ast.Expr) bool {
	if of == len(values) {
		return s.isNew(values[i], root)
	}
	call, ok := ast.Unparen(values[0]).(*ast.CallExpr)
	return ok && i == 0 && s.newByCall(call)
}

// isNew reports whether a value, and all that it leads to, is new, or of root itself.
func (s *source) isNew(e ast.Expr, root types.Object) bool {
	e = ast.Unparen(e)
	if t := s.info.TypeOf(e); t != nil && s.flat(t) || s.isNil(e) || root != nil && s.root(e) == root {
		return true
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		for _, part := range e.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				part = pair.Value
			}
			if !s.isNew(part, root) {
				return false
			}
		}
		return true
	case *ast.UnaryExpr:
		_, ok := ast.Unparen(e.X).(*ast.CompositeLit)
		return ok && e.Op == token.AND && s.isNew(e.X, root)
	case *ast.CallExpr:
		if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok {
			if _, ok := s.info.Uses[id].(*types.Builtin); ok {
				return s.newByBuiltin(id.Name, e, root)
			}
		}
		if s.info.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return isString(s.info.TypeOf(e.Args[0]).Underlying()) || s.isNew(e.Args[0], root)
		}
		return s.newByCall(e)
	}
	return false
}

func (s *source) newByBuiltin(name string, call *ast.CallExpr, root types.Object) bool {
	switch name {
	case "make", "new":
		return true
	case "append":
		for i, arg := range call.Args {
			spread := i > 0 && call.Ellipsis.IsValid() && s.flatElem(s.info.TypeOf(arg))
			if !spread && !s.isNew(arg, root) {
				return false
			}
		}
		return true
	}
	return false
}

// makers are functions that return something new, by package; of other packages there are none.
var makers = map[string]map[string]bool{
	"slices":        set("Clone Collect Sorted Concat Repeat"),
	"maps":          set("Clone Collect"),
	"bytes":         set("Clone ToUpper ToLower Repeat Join"),
	"encoding/json": set("Marshal MarshalIndent"),
	"fmt":           set("Append"),
}

// newByCall reports whether a call returns something new that leads to nothing else.
func (s *source) newByCall(call *ast.CallExpr) bool {
	fn := s.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Results().Len() == 0 {
		return false
	}
	first := fn.Signature().Results().At(0).Type()
	if t, ok := s.info.TypeOf(call).(*types.Tuple); ok {
		first = t.At(0).Type()
	} else if t := s.info.TypeOf(call); t != nil {
		first = t
	}
	switch path := fn.Pkg().Path(); {
	case path == "strings" || path == "strconv":
		return s.flat(first) || s.flatElem(first) && !fn.Signature().Variadic()
	case makers[path][fn.Name()]:
		return s.flatElem(first)
	case fn.Pkg().Name() == "redis": // v, err := tx.HGetAll(…).Result()
		return (fn.Name() == "Result" || fn.Name() == "Bytes") && (s.flat(first) || s.flatElem(first))
	}
	return false
}

// flat reports whether a value of a type leads to no memory that somebody could write to.
func (s *source) flat(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	case *types.Array:
		return s.flat(u.Elem())
	case *types.Struct:
		if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" {
			return true
		}
		for f := range u.Fields() {
			if !s.flat(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// flatElem reports whether a slice or a map has elements that are flat.
func (s *source) flatElem(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return s.flat(t)
	case *types.Slice:
		return s.flat(u.Elem())
	case *types.Map:
		return s.flat(u.Key()) && s.flat(u.Elem())
	}
	return false
}
