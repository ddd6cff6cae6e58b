package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// oneCommand returns the only command of TxPipelined(ctx, func(pipe) error { pipe.Set(…); return nil }).
func (s *source) oneCommand(call *ast.CallExpr) (*ast.CallExpr, error) {
	if len(call.Args) != 2 {
		return nil, errors.New("TxPipelined is called in an unusual way")
	}
	fn, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit)
	if !ok {
		return nil, errors.New("the function that fills the pipeline is declared elsewhere")
	}
	if fn.Type.Params.NumFields() != 1 || len(fn.Type.Params.List[0].Names) != 1 {
		return nil, errors.New("the pipeline has no name")
	}
	pipe := s.info.Defs[fn.Type.Params.List[0].Names[0]]
	if uses := s.usesIn(fn.Body, pipe); len(uses) != 1 {
		return nil, fmt.Errorf("there are %d uses of the pipeline, and one command is rewritten", len(uses))
	}
	more := errors.New("the function that fills the pipeline does more than that")
	list := fn.Body.List
	switch len(list) {
	case 1: // return pipe.Set(…).Err()
		ret, ok := list[0].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 {
			return nil, more
		}
		outer, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr)
		if !ok {
			return nil, more
		}
		sel, ok := ast.Unparen(outer.Fun).(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Err" {
			return nil, more
		}
		return s.commandOf(sel.X, pipe, more)
	case 2: // pipe.Set(…); return nil
		ret, ok := list[1].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 || !s.isNil(ret.Results[0]) {
			return nil, more
		}
		stmt, ok := list[0].(*ast.ExprStmt)
		if !ok {
			return nil, errors.New("the answer of the command is kept, or the command stands in a branch")
		}
		return s.commandOf(stmt.X, pipe, more)
	}
	return nil, more
}

// commandOf returns a call of a method of the pipeline.
func (s *source) commandOf(e ast.Expr, pipe types.Object, otherwise error) (*ast.CallExpr, error) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, otherwise
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || s.object(sel.X) != pipe || call.Ellipsis.IsValid() {
		return nil, otherwise
	}
	return call, nil
}

// pipeline returns the only command, and the Exec, of pipe := c.TxPipeline(); pipe.Set(…);
// _, err := pipe.Exec(ctx). Three statements begin with the call's own.
func (s *source) pipeline(call *ast.CallExpr, stmts []ast.Stmt) (one, exec *ast.CallExpr, err error) {
	unusual := errors.New("a TxPipeline is not followed by one command and Exec")
	if len(stmts) == 0 {
		return nil, nil, unusual
	}
	n, ok := stmts[0].(*ast.AssignStmt)
	if !ok || n.Tok != token.DEFINE || len(n.Lhs) != 1 || len(n.Rhs) != 1 || ast.Unparen(n.Rhs[0]) != ast.Expr(call) {
		return nil, nil, errors.New("the pipeline is not assigned to a new variable")
	}
	pipe := s.object(n.Lhs[0])
	if err := s.oneOf(pipe); err != nil {
		return nil, nil, err
	}
	if len(stmts) < 3 {
		return nil, nil, unusual
	}
	stmt, ok := stmts[1].(*ast.ExprStmt)
	if !ok {
		return nil, nil, unusual
	}
	if one, err = s.commandOf(stmt.X, pipe, unusual); err != nil {
		return nil, nil, err
	}
	if exec = callOf(simple(stmts[2])); exec == nil || len(exec.Args) != 1 {
		return nil, nil, unusual
	}
	if sel, ok := ast.Unparen(exec.Fun).(*ast.SelectorExpr); !ok || s.object(sel.X) != pipe || sel.Sel.Name != "Exec" {
		return nil, nil, unusual
	}
	return one, exec, nil
}

// simple is the statement that an if begins with, or any other statement itself.
func simple(stmt ast.Stmt) ast.Stmt {
	if n, ok := stmt.(*ast.IfStmt); ok {
		return n.Init
	}
	return stmt
}

// callOf is the call that a statement is, or assigns; nil if there is none.
func callOf(stmt ast.Stmt) (call *ast.CallExpr) {
	switch n := stmt.(type) {
	case *ast.ExprStmt:
		call, _ = ast.Unparen(n.X).(*ast.CallExpr)
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 {
			call, _ = ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
		}
	}
	return call
}

// oneOf refuses a pipeline that gets another number of commands than one.
func (s *source) oneOf(pipe types.Object) error {
	commands, called := 0, 0
	ast.Inspect(s.around(), func(n ast.Node) bool {
		if n, ok := n.(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && pipe != nil && s.object(sel.X) == pipe {
				called++
				if sel.Sel.Name != "Exec" {
					commands++
				}
			}
		}
		return true
	})
	switch {
	case called != len(s.usesIn(s.around(), pipe)):
		return errors.New("the pipeline is handed on, so its commands are not all seen")
	case commands != 1:
		return fmt.Errorf("the transaction has %d commands, and one command is rewritten", commands)
	}
	return nil
}
