package rewrite

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

// assumption is the state of an error variable.
type assumption uint8

const (
	isNil  assumption = iota
	absent            // the client's redis.Nil
	failed            // any other error
)

// outcome returns the return statement that statements come to if an error variable is as assumed. It passes over other
// statements if skip permits them. If the code does not show the way, ret is nil; next says that it goes on behind them.
func (w *watch) outcome(list []ast.Stmt, err types.Object, a assumption, skip func(ast.Stmt) bool) (ret *ast.ReturnStmt, next bool) {
	for _, stmt := range list {
		switch n := stmt.(type) {
		case *ast.ReturnStmt:
			return n, false
		case *ast.BlockStmt:
			if ret, next := w.outcome(n.List, err, a, skip); !next {
				return ret, false
			}
		case *ast.IfStmt:
			yes, known := w.holds(n.Cond, err, a)
			if n.Init != nil || !known {
				return nil, false
			}
			branch := []ast.Stmt{n.Body}
			if !yes {
				if branch = nil; n.Else != nil {
					branch = []ast.Stmt{n.Else}
				}
			}
			if ret, next := w.outcome(branch, err, a, skip); !next {
				return ret, false
			}
		default:
			if skip == nil || !skip(n) || len(w.usesIn(n, err)) > 0 {
				return nil, false
			}
		}
	}
	return nil, true
}

// holds evaluates a condition on an error variable.
func (w *watch) holds(cond ast.Expr, err types.Object, a assumption) (yes, known bool) {
	switch e := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		yes, known = w.holds(e.X, err, a)
		return !yes, known && e.Op == token.NOT
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			x, known := w.holds(e.X, err, a)
			if known && x == (e.Op == token.LOR) {
				return x, true
			}
			y, knownY := w.holds(e.Y, err, a)
			return y, known && knownY
		}
		if w.object(e.X) != err || e.Op != token.EQL && e.Op != token.NEQ {
			return false, false
		}
		switch {
		case w.isNil(e.Y):
			return (a == isNil) == (e.Op == token.EQL), true
		case w.isName(e.Y, w.redis, "Nil"):
			return (a == absent) == (e.Op == token.EQL), true
		}
	case *ast.CallExpr:
		fn := symbolic.Callee(w.info, e)
		is := fn != nil && fn.FullName() == "errors.Is" && w.object(e.Args[0]) == err && w.isName(e.Args[1], w.redis, "Nil")
		return is && a == absent, is
	}
	return false, false
}

// wraps reports whether a statement returns an error, as it is or wrapped by fmt.Errorf so that errors.Is finds the same.
func (w *watch) wraps(ret *ast.ReturnStmt, err types.Object) bool {
	if ret == nil || len(ret.Results) != 1 || err == nil {
		return false
	}
	if w.object(ret.Results[0]) == err {
		return true
	}
	call, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr)
	if !ok || len(call.Args) < 2 || call.Ellipsis.IsValid() {
		return false
	}
	last := len(call.Args) - 1
	fn, format := symbolic.Callee(w.info, call), w.info.Types[call.Args[0]].Value
	if fn == nil || fn.FullName() != "fmt.Errorf" || format == nil || w.object(call.Args[last]) != err {
		return false
	}
	for _, arg := range call.Args[1:last] {
		if !w.plain(arg) || len(w.usesIn(arg, err)) > 0 {
			return false
		}
	}
	// The last verb is the only one that wraps, and takes the last argument.
	text := constant.StringVal(format)
	return strings.Count(text, "%w") == 1 && strings.LastIndexByte(text, '%') == strings.Index(text, "%w") &&
		strings.Count(text, "%") == last
}

// read is a statement that reads, with the statements behind it.
type read struct {
	stmt  ast.Stmt
	call  *ast.CallExpr // tx.Get(ctx, key)
	conv  string        // "Result"
	value ast.Expr      // assigned; nil if there is none
	err   types.Object
	rest  []ast.Stmt // among them the if that begins with the read
}

// firstRead finds the first statement of the function that does more than to declare, if it reads and any error but
// redis.Nil is returned at once. A Watch or an Update that fails does not run the function, so an error must come out
// before anything else happens.
func (w *watch) firstRead() (*read, string) {
	if len(w.uses) == 0 {
		return nil, "the transaction is not used at all: the purpose of the watch is not seen"
	}
	list := w.fn.Body.List
	for len(list) > 0 && w.harmless(list[0]) {
		list = list[1:]
	}
	r := &read{call: w.uses[0].call}
	if len(list) == 0 || !within(list[0], r.call.Pos()) {
		return nil, "something happens before the first read, and would also without a connection"
	}
	r.stmt, r.rest = head(list[0])
	r.rest = append(r.rest, list[1:]...)
	conv := func(e ast.Expr) bool {
		_, recv, name := method(e)
		r.conv = name
		return recv == ast.Expr(r.call)
	}
	swallowed := "an error of the read is not just returned"
	if n, ok := r.stmt.(*ast.ReturnStmt); ok {
		if len(n.Results) == 1 && conv(n.Results[0]) && r.conv == "Err" {
			return r, ""
		}
		return nil, swallowed
	}
	n, ok := r.stmt.(*ast.AssignStmt)
	if !ok || len(n.Rhs) != 1 {
		return nil, "the read stands in an expression, or in a branch"
	}
	if !conv(n.Rhs[0]) {
		return nil, "the answer of the read is not used at once"
	}
	if len(n.Lhs) > 1 {
		r.value = n.Lhs[0]
	}
	last, ok := n.Lhs[len(n.Lhs)-1].(*ast.Ident)
	if r.err = w.object(n.Lhs[len(n.Lhs)-1]); !ok || last.Name == "_" || r.err == nil || r.conv == "Val" {
		return nil, "the error of the read is thrown away"
	}
	if ret, _ := w.outcome(r.rest, r.err, failed, w.harmless); !w.wraps(ret, r.err) {
		return nil, swallowed
	}
	return r, ""
}

// harmless reports whether a statement only declares variables, or assigns plain values to variables. Before the first
// read they must be variables of its own.
func (w *watch) harmless(stmt ast.Stmt) bool {
	exprs, places := []ast.Expr(nil), []ast.Expr(nil)
	switch n := stmt.(type) {
	case *ast.DeclStmt:
		for _, spec := range n.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				exprs = append(exprs, v.Values...)
			}
		}
	case *ast.AssignStmt:
		exprs, places = n.Rhs, n.Lhs
	default:
		return false
	}
	for _, e := range exprs {
		if !w.plain(e) {
			return false
		}
	}
	for _, e := range places {
		obj := w.object(e)
		if obj == nil || !within(w.fn, obj.Pos()) && stmt.Pos() < w.uses[0].call.Pos() {
			return false
		}
	}
	return true
}
