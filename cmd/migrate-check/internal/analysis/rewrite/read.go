package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// read is how the key is read, and what is done about a key that is absent.
type read struct {
	at     int // among the statements of the function
	stmt   *ast.AssignStmt
	method string // "Get"
	conv   string // "Result"
	ctx    ast.Expr
	key    ast.Expr
	field  ast.Expr // of HGet
	value  ast.Expr // what the value is assigned to; nil if nothing is
	err    types.Object
	check  check
	gone   [][2]token.Pos // parts of the file that are replaced as a whole
}

func (r *read) hash() bool { return r.method != "Get" }

func (r *read) covers(pos token.Pos) bool {
	for _, part := range r.gone {
		if part[0] <= pos && pos < part[1] {
			return true
		}
	}
	return false
}

// check is what follows on the read.
type check struct {
	kind  checkKind
	stmts []ast.Stmt      // one or two
	pass  *ast.ReturnStmt // of the error
	block *ast.BlockStmt  // what is done if the key is absent
	cond  ast.Expr
}

type checkKind uint8

const (
	none      checkKind = iota
	neither             // if err != nil && err != redis.Nil { return err }
	elseIf              // if err == redis.Nil { … } else if err != nil { return err }
	twoIfs              // if err == redis.Nil { …; return } if err != nil { return err }
	either              // if err != nil { return err }
	unlessNil           // if err != nil { if err != redis.Nil { return err }; … }
)

// parsers are what go-redis makes of a text, by the method.
var parsers = map[string]string{
	"Int": "Atoi(%s)", "Int64": "ParseInt(%s, 10, 64)", "Uint64": "ParseUint(%s, 10, 64)",
	"Float64": "ParseFloat(%s, 64)", "Bool": "ParseBool(%s)",
}

// findRead finds the statement that reads, and what follows.
func (u *update) findRead() error {
	get := u.uses[0]
	r := &u.read
	r.method, r.at = get.name, -1
	for i, stmt := range u.fn.Body.List {
		if within(stmt, get.call.Pos()) {
			r.at = i
			r.stmt, _ = stmt.(*ast.AssignStmt)
		}
	}
	if r.stmt == nil || len(r.stmt.Rhs) != 1 {
		return fmt.Errorf("%s stands in an expression, or in a branch", get.name)
	}
	conv, ok := ast.Unparen(r.stmt.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return fmt.Errorf("the answer of %s is not used at once", get.name)
	}
	sel, ok := ast.Unparen(conv.Fun).(*ast.SelectorExpr)
	if !ok || ast.Unparen(sel.X) != ast.Expr(get.call) {
		return fmt.Errorf("the answer of %s is not used at once", get.name)
	}
	r.conv = sel.Sel.Name
	u.exchanged[conv] = true
	args := map[string]int{"Get": 2, "HGet": 3, "HGetAll": 2}[r.method]
	if len(get.call.Args) != args {
		return fmt.Errorf("%s has an unusual number of arguments", r.method)
	}
	r.ctx, r.key = get.call.Args[0], get.call.Args[1]
	if args == 3 {
		r.field = get.call.Args[2]
	}
	want := 2
	switch {
	case r.method == "HGetAll" && r.conv != "Result":
		return fmt.Errorf("HGetAll with %s, which may fail in other ways", r.conv)
	case r.conv == "Result", r.conv == "Bytes", parsers[r.conv] != "":
	case r.conv == "Err":
		want = 1
	default:
		return fmt.Errorf("%s of an answer has errors of its own", r.conv)
	}
	if len(r.stmt.Lhs) != want {
		return errors.New("the answer is assigned in an unusual way")
	}
	r.err = u.object(r.stmt.Lhs[want-1])
	if id, ok := r.stmt.Lhs[want-1].(*ast.Ident); !ok || id.Name == "_" || r.err == nil {
		return errors.New("the error of the read is thrown away; an Update fails with it")
	}
	if !within(u.fn, r.err.Pos()) {
		return fmt.Errorf("%s, which is declared outside, gets the error of the read", r.err.Name())
	}
	if want == 2 {
		if id, ok := r.stmt.Lhs[0].(*ast.Ident); !ok {
			return errors.New("the answer is assigned to something else than a variable")
		} else if id.Name != "_" {
			r.value = id
			if v := u.info.ObjectOf(id); !within(u.fn, v.Pos()) && !u.zero(v) {
				return fmt.Errorf("%s, which is declared outside with a value, is zero after a read that fails; an Update leaves it", id.Name)
			}
		}
	}
	return u.findCheck()
}

// zero reports whether a variable is declared without a value, and assigned in the function only.
// Outside of a loop around the call, it keeps what it got from the round before.
func (u *update) zero(v types.Object) bool {
	for _, n := range u.path {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if !within(n, v.Pos()) {
				return false
			}
		}
	}
	fine := false
	ast.Inspect(u.around(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				fine = fine || u.info.Defs[name] == v && len(n.Values) == 0
			}
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if u.root(lhs) == v && !within(u.fn, n.Pos()) && n.Pos() < u.call.Pos() {
					fine = false
					return false
				}
			}
		}
		return true
	})
	return fine
}

// findCheck finds out what is done with the error of the read.
func (u *update) findCheck() error {
	r, c := &u.read, &u.read.check
	if u.escapes(r.err) {
		return fmt.Errorf("%s of the read is used by a function, or by its address", r.err.Name())
	}
	rest := u.fn.Body.List[r.at+1:]
	if len(rest) == 0 {
		return errors.New("the error of the read is not looked at")
	}
	n, ok := rest[0].(*ast.IfStmt)
	if !ok || n.Init != nil {
		return errors.New("the error of the read is not looked at in the next statement")
	}
	c.cond, c.stmts = n.Cond, rest[:1]
	unusual := errors.New("an error of the read is not just returned, but an Update returns it")
	if b, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr); ok && b.Op == token.LAND && n.Else == nil {
		x, y := b.X, b.Y
		if u.is(x, r.err, "Nil", true) {
			x, y = y, x
		}
		if u.compares(x, token.NEQ, r.err) && u.is(y, r.err, "Nil", true) {
			c.kind = neither
			if c.pass, ok = u.passes(n.Body, r.err); !ok {
				return unusual
			}
			return u.checkHash()
		}
	}
	switch {
	case u.is(n.Cond, r.err, "Nil", false):
		c.block = n.Body
		if other, ok := n.Else.(*ast.IfStmt); ok {
			c.kind = elseIf
			if other.Init != nil || !u.compares(other.Cond, token.NEQ, r.err) {
				return unusual
			}
			if c.pass, ok = u.passes(other.Body, r.err); !ok {
				return unusual
			}
			break
		}
		if n.Else != nil || len(rest) < 2 {
			return unusual
		}
		c.kind, c.stmts = twoIfs, rest[:2]
		if c.pass, ok = u.failed(rest[1], r.err); !ok {
			return unusual
		}
		if !ends(n.Body) {
			return errors.New("an absent key goes on to the return of an error")
		}
	case u.compares(n.Cond, token.NEQ, r.err) && n.Else == nil:
		if c.pass, ok = u.passes(n.Body, r.err); ok {
			c.kind = either
			break
		}
		if len(n.Body.List) < 2 {
			return unusual
		}
		inner, ok := n.Body.List[0].(*ast.IfStmt)
		if !ok || inner.Init != nil || inner.Else != nil || !u.is(inner.Cond, r.err, "Nil", true) {
			return unusual
		}
		if c.pass, ok = u.passes(inner.Body, r.err); !ok {
			return unusual
		}
		c.kind, c.block = unlessNil, n.Body
	default:
		return unusual
	}
	return u.checkHash()
}

// checkHash refuses what makes no sense of a hash, and what cannot be said of a number.
func (u *update) checkHash() error {
	r := &u.read
	if r.method == "HGetAll" && r.check.kind != either {
		return errors.New("HGetAll never answers redis.Nil")
	}
	if r.check.kind == unlessNil && parsers[r.conv] != "" {
		return errors.New("what is done for an absent key, is done for a text that is no number, too")
	}
	return u.checkErr()
}

// escapes reports whether a variable is used by a function inside, or by its address: then it
// is not seen when.
func (u *update) escapes(v types.Object) bool {
	found := false
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || len(u.usesIn(n, v)) > 0
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && u.root(n.X) == v
		}
		return !found
	})
	return found
}

// checkErr refuses if the error of the read is used again before it is assigned again, and
// what compares bytes with nil, which an absent key has been.
func (u *update) checkErr() error {
	r := &u.read
	after := r.check.stmts[len(r.check.stmts)-1].End()
	for _, use := range u.usesIn(u.fn.Body, r.err) {
		if use.Pos() < after || u.anew(use) {
			continue
		}
		if u.assigned(use) == nil && !u.inCommit(use.Pos()) {
			return fmt.Errorf("%s of the read is used again later", r.err.Name())
		}
		break
	}
	if first := u.firstUse(after); parsers[r.conv] == "" && (first == nil || u.inCommit(first.Pos())) {
		if id := r.stmt.Lhs[len(r.stmt.Lhs)-1].(*ast.Ident); r.stmt.Tok == token.ASSIGN {
			return fmt.Errorf("%s is declared before the read, and would not be used any more", id.Name)
		}
	}
	if b := r.check.block; b != nil {
		for _, use := range u.usesIn(b, r.err) {
			if u.assigned(use) != nil {
				return fmt.Errorf("%s is assigned where the key is absent", r.err.Name())
			}
		}
	}
	if r.conv != "Bytes" || r.value == nil {
		return nil
	}
	return u.nilSeen(u.object(r.value))
}

// firstUse finds where the error's variable is used next.
func (u *update) firstUse(after token.Pos) *ast.Ident {
	for _, use := range u.usesIn(u.fn.Body, u.read.err) {
		if use.Pos() >= after {
			return use
		}
	}
	return nil
}

// anew reports whether a place belongs to an if that begins by assigning the error's variable.
func (u *update) anew(use *ast.Ident) bool {
	found := false
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		stmt, ok := n.(*ast.IfStmt)
		if !ok || !within(stmt, use.Pos()) {
			return true
		}
		init, ok := stmt.Init.(*ast.AssignStmt)
		if !ok || init.Tok != token.ASSIGN {
			return true
		}
		for _, lhs := range init.Lhs {
			found = found || u.object(lhs) == u.read.err && len(u.usesIn(init, u.read.err)) == 1
		}
		return !found
	})
	return found
}

// inCommit reports whether a place belongs to the statement that commits, or is behind it.
func (u *update) inCommit(pos token.Pos) bool {
	for _, stmt := range u.fn.Body.List {
		if within(stmt, u.uses[1].call.Pos()) {
			return pos >= stmt.Pos()
		}
	}
	return false
}

// assigned returns the statement of the function itself, or at the beginning of an if of it,
// that assigns a variable at this place; nil if there is none.
func (u *update) assigned(use *ast.Ident) *ast.AssignStmt {
	for _, stmt := range u.fn.Body.List {
		if n, ok := stmt.(*ast.IfStmt); ok {
			stmt = n.Init
		}
		n, ok := stmt.(*ast.AssignStmt)
		if !ok {
			continue
		}
		for _, lhs := range n.Lhs {
			if lhs == ast.Expr(use) && len(u.usesIn(n, u.info.ObjectOf(use))) == 1 {
				return n
			}
		}
	}
	return nil
}
