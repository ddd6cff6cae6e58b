package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// effects refuses a function that does more than compute: a Store may run it under the lock of
// its key, where code that waits for another caller of that key would wait for itself.
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
		case *ast.RangeStmt:
			for _, lhs := range []ast.Expr{n.Key, n.Value} {
				if n.Tok == token.ASSIGN && lhs != nil && err == nil {
					err = u.assignment(n, lhs)
				}
			}
			if err == nil {
				err = u.control(n)
			}
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

// assignment permits assignments to the function's own variables, and to a variable outside that
// each run assigns anew before it uses it.
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
	outside := fmt.Errorf("%s, which is declared outside, is changed by more than one assignment as a whole", root.Name())
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
	if !slices.Contains(u.fn.Body.List, stmt) {
		return outside
	}
	return nil
}

var errRecovers = errors.New("the function recovers from a panic")
