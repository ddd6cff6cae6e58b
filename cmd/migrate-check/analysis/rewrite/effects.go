package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// effects refuses a function that does more than to compute: an Update may call it several
// times, as a loop that tries again does, and a single Watch does not.
func (u *update) effects() error {
	var err error
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		if err != nil {
			return false
		}
		if n == ast.Node(u.uses[0].call) {
			return true
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if err = u.assignment(n, lhs); err != nil {
					return false
				}
			}
		case *ast.IncDecStmt:
			err = u.assignment(n, n.X)
		case *ast.CallExpr:
			err = u.effectOf(n)
		default:
			err = u.control(n)
		}
		return err == nil
	})
	return err
}

// control refuses the statements by which more than one thing happens at once, or later.
func (s *source) control(n ast.Node) error {
	var what string
	switch n := n.(type) {
	case *ast.GoStmt:
		what = "starts a goroutine"
	case *ast.DeferStmt:
		what = "defers something"
	case *ast.SelectStmt, *ast.SendStmt:
		what = "uses a channel"
	case *ast.LabeledStmt:
		what = "has a label"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			what = "uses a channel"
		}
		if n.Op == token.AND && s.root(n.X) != nil && !s.local(s.root(n.X), s.fnAround(n)) {
			what = fmt.Sprintf("takes the address of %s, which is declared outside", s.root(n.X).Name())
		}
	case *ast.RangeStmt:
		switch s.info.TypeOf(n.X).Underlying().(type) {
		case *types.Chan:
			what = "uses a channel"
		case *types.Signature:
			what = "iterates over a function"
		}
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("the function %s", what)
}

// fnAround is the outermost literal of the call that a node stands in: where a local
// variable may be declared.
func (s *source) fnAround(n ast.Node) ast.Node {
	around := s.around()
	ast.Inspect(s.around(), func(m ast.Node) bool {
		lit, ok := m.(*ast.FuncLit)
		if !ok || !within(lit, n.Pos()) {
			return true
		}
		if p := lit.Type.Params; p.NumFields() == 1 && s.isTx(p.List[0].Type) {
			around = lit
			return false
		}
		return true
	})
	return around
}

func (s *source) isTx(e ast.Expr) bool {
	p, ok := types.Unalias(s.info.TypeOf(e)).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && named.Obj().Name() == "Tx"
}

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

// assignment permits what is assigned to the function's own variables, and to one outside if
// each run begins by assigning it anew: then the last run decides, as before.
func (u *update) assignment(stmt ast.Stmt, lhs ast.Expr) error {
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return nil
	}
	root := u.root(lhs)
	if root == nil {
		return fmt.Errorf("%s is assigned, and it is not seen whose it is", u.of(lhs))
	}
	id, plain := ast.Unparen(lhs).(*ast.Ident)
	if u.local(root, u.fn) {
		if plain || u.own(root, lhs) {
			return nil
		}
		return fmt.Errorf("%s may be a part of something outside", u.of(lhs))
	}
	outside := fmt.Errorf("%s, which is declared outside, is changed, and an Update may call the function several times", root.Name())
	n, ok := stmt.(*ast.AssignStmt)
	if !ok || n.Tok != token.ASSIGN && n.Tok != token.DEFINE || !plain {
		return outside
	}
	if root.Parent() == u.pass.Pkg.Scope() {
		return outside
	}
	first := u.usesIn(u.fn.Body, root)[0]
	if first != id || len(u.usesIn(stmt, root)) != 1 {
		return outside
	}
	if slices.Contains(u.fn.Body.List, stmt) {
		return nil
	}
	return outside
}

// own reports whether a part of a local variable is the function's alone.
func (s *source) own(root types.Object, lhs ast.Expr) bool {
	if s.direct(lhs) {
		return true
	}
	mine, seen := true, false
	ast.Inspect(s.around(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if s.info.Defs[name] == root {
					seen = true
					mine = mine && (i >= len(n.Values) || s.made(n.Values[i]))
				}
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if s.object(l) == root {
					seen = true
					mine = mine && (len(n.Lhs) == len(n.Rhs) && s.made(n.Rhs[i]) || i == 0 && s.readsMap(n))
				}
			}
		}
		return true
	})
	return mine && seen
}

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

// made reports whether a value is new.
func (s *source) made(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		_, ok := e.X.(*ast.CompositeLit)
		return ok && e.Op == token.AND
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		if !ok {
			return false
		}
		_, builtin := s.info.Uses[id].(*types.Builtin)
		return builtin && (id.Name == "make" || id.Name == "new")
	}
	return false
}

// readsMap reports whether a statement is m, err := tx.HGetAll(…).Result(), whose map is new.
func (s *source) readsMap(n *ast.AssignStmt) bool {
	if len(n.Rhs) != 1 {
		return false
	}
	call, ok := n.Rhs[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := s.callee(call)
	return fn != nil && fn.Name() == "Result" && fn.Pkg() != nil && fn.Pkg().Name() == "redis"
}

var errRecovers = errors.New("the function recovers from a panic")
