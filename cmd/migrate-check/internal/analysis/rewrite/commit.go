package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// commit is how the key is written.
type commit struct {
	stmts    []ast.Stmt // the last of the function
	method   string     // "Set"
	call     *ast.CallExpr
	ctxs     []ast.Expr
	key      ast.Expr
	args     []ast.Expr // behind the key
	hashOnly bool
}

func (c *commit) pos() token.Pos { return c.stmts[0].Pos() }

// findCommit finds the statements that write, which are the last ones.
func (u *update) findCommit() error {
	use, c := u.uses[1], &u.commit
	list := u.fn.Body.List
	at := -1
	for i, stmt := range list {
		if within(stmt, use.call.Pos()) {
			at = i
		}
	}
	if at <= u.read.at+len(u.read.check.stmts) {
		return errors.New("it is written before the error of the read is looked at")
	}
	c.stmts = list[at:]
	rest := c.stmts
	var err error
	if use.name == "TxPipeline" {
		var exec *ast.CallExpr
		if c.call, exec, err = u.pipeline(use.call, c.stmts); err == nil {
			c.ctxs, rest = append(c.ctxs, exec.Args[0]), c.stmts[2:]
			u.exchanged[exec] = true
		}
	} else {
		err = u.pipelined(use.call)
	}
	if err != nil {
		return err
	}
	if err := u.ending(rest, use.call); err != nil {
		return err
	}
	return u.written()
}

// pipelined reads TxPipelined(ctx, func(pipe) error { pipe.Set(…); return nil }).
func (u *update) pipelined(call *ast.CallExpr) error {
	c := &u.commit
	one, err := u.oneCommand(call)
	if err != nil {
		return err
	}
	c.call, c.ctxs = one, append(c.ctxs, call.Args[0])
	ast.Inspect(call.Args[1], func(n ast.Node) bool { // of return pipe.Set(…).Err()
		if outer, ok := n.(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(outer.Fun).(*ast.SelectorExpr); ok && ast.Unparen(sel.X) == ast.Expr(one) {
				u.exchanged[outer] = true
			}
		}
		return true
	})
	return nil
}

// ending reads what stands at the end: the call, and the return of its error.
func (u *update) ending(list []ast.Stmt, call *ast.CallExpr) error {
	unusual := errors.New("after the write, more happens than that its error is returned")
	var n *ast.AssignStmt
	var tail []ast.Stmt
	checked := false
	switch first := list[0].(type) {
	case *ast.AssignStmt:
		n, tail = first, list[1:]
	case *ast.IfStmt:
		n, _ = first.Init.(*ast.AssignStmt)
		checked = true
	case *ast.ReturnStmt:
		return unusual
	}
	if n == nil || len(n.Lhs) != 2 || len(n.Rhs) != 1 {
		return errors.New("the write is one of several branches, or its result is used in an unusual way")
	}
	if exec, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr); !ok || exec != call && u.uses[1].name == "TxPipelined" {
		return unusual
	}
	if id, ok := n.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
		return errors.New("the answers of the pipeline are kept")
	}
	err := u.object(n.Lhs[1])
	if err == nil {
		return errors.New("the error of the write is thrown away")
	}
	if !within(u.fn, err.Pos()) {
		return fmt.Errorf("%s, which is declared outside, gets the error of the write", err.Name())
	}
	wrapped := errors.New("a conflict is returned with more words, which a comparison with == tells from TxFailedErr")
	plain := func(ret *ast.ReturnStmt) bool { return u.object(ret.Results[0]) == err }
	if checked {
		bare := *list[0].(*ast.IfStmt)
		bare.Init = nil
		ret, ok := u.failed(&bare, err)
		if !ok || len(list) != 2 {
			return unusual
		}
		if !plain(ret) {
			return wrapped
		}
		return u.returnsNil(list[1], unusual)
	}
	switch len(tail) {
	case 1:
		if ret, ok := tail[0].(*ast.ReturnStmt); !ok || len(ret.Results) != 1 || u.object(ret.Results[0]) != err {
			return unusual
		}
		return nil
	case 2:
		ret, ok := u.failed(tail[0], err)
		if !ok {
			return unusual
		}
		if !plain(ret) {
			return wrapped
		}
		return u.returnsNil(tail[1], unusual)
	}
	return unusual
}

func (u *update) returnsNil(stmt ast.Stmt, otherwise error) error {
	if ret, ok := stmt.(*ast.ReturnStmt); ok && len(ret.Results) == 1 && u.isNil(ret.Results[0]) {
		return nil
	}
	return otherwise
}

// written reads what is written.
func (u *update) written() error {
	c := &u.commit
	c.method = ast.Unparen(c.call.Fun).(*ast.SelectorExpr).Sel.Name
	least, most := 2, 2
	switch c.method {
	case "Set":
		least, most = 4, 4
	case "Del":
	case "HDel":
		least, most, c.hashOnly = 3, 99, true
	case "HSet":
		least, most, c.hashOnly = 4, 98, true
		if len(c.call.Args)%2 != 0 {
			return errors.New("HSet is not given names and values")
		}
	default:
		return fmt.Errorf("%s is neither Set, Del, HSet nor HDel", c.method)
	}
	if n := len(c.call.Args); n < least || n > most {
		return fmt.Errorf("%s has %d arguments", c.method, n)
	}
	u.exchanged[c.call] = true
	c.ctxs = append(c.ctxs, c.call.Args[0])
	c.key, c.args = c.call.Args[1], c.call.Args[2:]
	return nil
}

// writeCommit makes the commit the return of what shall be stored.
func (u *update) writeCommit() error {
	text, err := u.stored()
	if err != nil {
		return err
	}
	u.replace(u.commit.pos(), u.commit.stmts[len(u.commit.stmts)-1].End(), text)
	return nil
}

// stored returns the statements that return the committed value.
func (u *update) stored() (string, error) {
	c := &u.commit
	switch c.method {
	case "Del":
		return fmt.Sprintf("return %s.Value{}, nil", u.rmw), nil
	case "HDel":
		var names []string
		for _, arg := range c.args {
			if !isString(u.info.TypeOf(arg)) {
				return "", errors.New("a field is not named by a string")
			}
			names = append(names, u.of(arg))
		}
		return fmt.Sprintf("return %s.Without(%s), nil", u.cur, strings.Join(names, ", ")), nil
	case "HSet":
		var value strings.Builder
		value.WriteString(u.cur)
		for i := 0; i < len(c.args); i += 2 {
			if !isString(u.info.TypeOf(c.args[i])) {
				return "", errors.New("HSet is given a field that is not named by a string")
			}
			stored, err := u.encode(c.args[i+1])
			if err != nil {
				return "", err
			}
			value.WriteString(fmt.Sprintf(".With(%s, %s)", u.of(c.args[i]), stored))
		}
		return fmt.Sprintf("return %s, nil", value.String()), nil
	}
	return u.writeSet()
}
