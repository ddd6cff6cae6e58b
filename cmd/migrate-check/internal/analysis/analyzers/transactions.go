package analyzers

import (
	"fmt"
	"go/ast"
	"go/token"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
)

// The rules.
const (
	watchRule       = "MC101"
	transactionRule = "MC102"
	namedRule       = "MC103"
)

// Changes is the result of the analyzer [Transactions]: the explanation of each WATCH and MULTI, by its position.
type Changes map[token.Pos]*finding.Change

// transaction judges a command of a transaction, or a pipeline that is one.
func (r *reader) transaction(c *rediscalls.Call, found []string) {
	what, refused := rules.Refusal(r.profile, found...)
	if !refused {
		return
	}
	id, text := namedRule, c.Through(found)+"; "+what
	call, called := c.Node.(*ast.CallExpr)
	var under *region
	var change *finding.Change
	switch {
	case c.How == rediscalls.Transaction:
		id, text = transactionRule, fmt.Sprintf("MULTI and EXEC through %s; %s", c.Name(), what)
		if what == carriedOut {
			text = fmt.Sprintf("MULTI and EXEC through %s; the proxy refuses them, and carries out the commands between them", c.Name())
		}
		if called {
			change = r.pipeline(call)
		}
	case found[0] == "WATCH" && called:
		if c.How != rediscalls.ByName {
			id = watchRule
		}
		under = r.watched(c, call)
		change = r.watch(c, call, under)
	case c.How != rediscalls.ByName && found[0] == "WATCH":
		id = watchRule
	}
	if change != nil {
		r.changes[c.Node.Pos()] = change
		text += "; " + change.Brief()
	}
	c.Report(r.pass, id, text)
	if found[0] == "WATCH" && called {
		r.protects(c, call, under)
	}
}

// carriedOut is the refusal that leaves the connection open.
const carriedOut = "the proxy refuses it"

// watch explains a WATCH; nil if its code is not visible.
func (r *reader) watch(c *rediscalls.Call, call *ast.CallExpr, under *region) *finding.Change {
	switch {
	case under == nil && r.ofTx(call):
		return &finding.Change{Class: "one more key of a WATCH", Advice: "name it in the rmw.Transact of that WATCH: " + several}
	case under == nil && r.functionArg(call) >= 0:
		return &finding.Change{Class: "a function from elsewhere", Advice: "classify each caller that gives one"}
	case under == nil:
		return nil
	}
	k := keys{}
	if at := r.functionArg(call); at >= 0 {
		k.all = call.Args[at+1:]
		if call.Ellipsis.IsValid() {
			k = keys{}
			k.list(r.eval, call.Args[len(call.Args)-1])
		}
	} else {
		k.all = c.Args
	}
	if !under.transacts() && !under.hidden && len(under.writes()) > 0 {
		change := r.shapeOf(under, k).explain(true)
		change.Class = "nothing guarded, " + change.Class
		return change
	}
	return r.shapeOf(under, k).explain(true)
}

// pipeline explains a MULTI; nil if its commands are not visible. That of a WATCH belongs to it.
func (r *reader) pipeline(call *ast.CallExpr) *finding.Change {
	if r.ofTx(call) {
		return &finding.Change{Class: "part of a WATCH", Advice: "it goes away with the WATCH"}
	}
	if at := r.functionArg(call); at >= 0 {
		params, body := r.function(call.Args[at])
		if body == nil || len(params) != 1 {
			return nil
		}
		return r.shapeOf(r.newRegion(body, params[0]), keys{}).explain(false)
	}
	decl, ok := r.around(call.Pos()).(*ast.FuncDecl)
	if !ok {
		return nil
	}
	for assign := range rediscalls.Each[*ast.AssignStmt](decl.Body) {
		if len(assign.Rhs) != 1 || ast.Unparen(assign.Rhs[0]) != ast.Expr(call) || len(assign.Lhs) != 1 {
			continue
		}
		if ident, ok := assign.Lhs[0].(*ast.Ident); ok && r.pass.TypesInfo.Defs[ident] != nil {
			g := r.newRegion(decl.Body, r.pass.TypesInfo.Defs[ident])
			s := r.shapeOf(g, keys{})
			s.accesses = s.byConn()
			return s.explain(false)
		}
	}
	return nil
}

// ofTx reports whether the receiver of a call is the transaction of a WATCH.
func (r *reader) ofTx(call *ast.CallExpr) bool {
	recv := receiver(call)
	if recv == nil {
		return false
	}
	_, name, ok := rediscalls.TypeOf(r.pass.TypesInfo.TypeOf(recv))
	return ok && name == "Tx"
}

// byConn are the accesses by the connection of the region.
func (s *shape) byConn() (some []access) {
	for _, a := range s.accesses {
		if call, ok := a.call.Node.(*ast.CallExpr); ok && receiver(call) != nil && s.isConn(receiver(call)) {
			some = append(some, a)
		}
	}
	return some
}
