package analyzers

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// A WATCH without an EXEC protects nothing.
const idleRule = "MC104"

// region is the visible code under a WATCH.
type region struct {
	pass  *analysis.Pass
	calls []*rediscalls.Call
	body  *ast.BlockStmt
	conn  types.Object // the variable of the transaction: tx, or redigo's connection
}

// protects reports a WATCH without an EXEC, if all of its region is visible.
func (r *reader) protects(watch *rediscalls.Call) {
	call, ok := watch.Node.(*ast.CallExpr)
	if !ok {
		return
	}
	if watch.Library.Name == rediscalls.Redigo && fromPool(call) {
		watch.Report(r.pass, idleRule, "WATCH on a connection from the pool that is lost with it: no EXEC can follow")
		return
	}
	under := &region{pass: r.pass, calls: r.calls}
	if !under.of(watch, call, r.around(call.Pos())) || under.transacts() || under.escapes() {
		return
	}
	switch {
	case len(under.writes()) > 0:
		watch.Report(r.pass, idleRule, "under this WATCH "+strings.Join(under.writes(), ", ")+" is sent outside of MULTI and EXEC: "+
			"it was never guarded, and loses updates today")
	case !under.callsOthers():
		watch.Report(r.pass, idleRule+"/note", "nothing is written under this WATCH: read without it")
	}
}

// fromPool reports whether the receiver of a call is a fresh connection from a pool.
func fromPool(call *ast.CallExpr) bool {
	taken, ok := receiver(call).(*ast.CallExpr)
	if !ok {
		return false
	}
	get, ok := ast.Unparen(taken.Fun).(*ast.SelectorExpr)
	return ok && get.Sel.Name == "Get"
}

// of finds the region of a WATCH in a declaration.
func (r *region) of(watch *rediscalls.Call, call *ast.CallExpr, decl ast.Decl) bool {
	switch {
	case watch.How == rediscalls.Method && watch.Library.Name == rediscalls.GoRedis:
		for _, arg := range call.Args {
			fn, ok := ast.Unparen(arg).(*ast.FuncLit)
			if !ok || len(fn.Type.Params.List) != 1 || len(fn.Type.Params.List[0].Names) != 1 {
				continue
			}
			r.body = fn.Body
			r.conn = r.pass.TypesInfo.Defs[fn.Type.Params.List[0].Names[0]]
			return true
		}
	case watch.Library.Name == rediscalls.Redigo && watch.How == rediscalls.ByName:
		ident, ok := receiver(call).(*ast.Ident)
		if !ok {
			return false
		}
		r.conn = r.pass.TypesInfo.Uses[ident]
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			return false
		}
		r.body = fn.Body
		return r.conn != nil && r.conn.Pos() > r.body.Pos() // else a caller may do the rest
	}
	return false
}

// inside are the calls in the region.
func (r *region) inside() (calls []*rediscalls.Call) {
	for _, c := range r.calls {
		if r.body.Pos() <= c.Node.Pos() && c.Node.End() <= r.body.End() {
			calls = append(calls, c)
		}
	}
	return calls
}

func (r *region) transacts() bool {
	return slices.ContainsFunc(r.inside(), func(c *rediscalls.Call) bool {
		return c.How == rediscalls.Transaction || c.Unknown || len(c.Of([]string{"EXEC", "MULTI"})) > 0
	})
}

// escapes reports whether the code passes the transaction on to other code, which may call EXEC.
func (r *region) escapes() bool {
	used := map[*ast.Ident]bool{} // as a receiver
	for call := range rediscalls.Each[*ast.CallExpr](r.body) {
		if ident, ok := receiver(call).(*ast.Ident); ok {
			used[ident] = true
		}
	}
	for ident, obj := range r.pass.TypesInfo.Uses {
		if obj == r.conn && r.conn != nil && !used[ident] && r.body.Pos() <= ident.Pos() && ident.End() <= r.body.End() {
			return true
		}
	}
	return r.pipelines()
}

// pipelines reports whether the region has a pipeline: up to v6 that
// is a transaction, and later it may be meant as one.
func (r *region) pipelines() bool {
	for sel := range rediscalls.Each[*ast.SelectorExpr](r.body) {
		if strings.Contains(sel.Sel.Name, "Pipeline") {
			return true
		}
	}
	return false
}

// writes are the commands in the region that write.
func (r *region) writes() (names []string) {
	for _, c := range r.inside() {
		for _, name := range c.Commands {
			command, known := proxycompat.CommandOf(strings.Fields(name)...)
			if known && command.Writes() && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// callsOthers reports whether the region calls functions that may send unknown commands.
func (r *region) callsOthers() bool {
	known := map[ast.Node]bool{}
	for _, c := range r.inside() {
		known[c.Node] = true
	}
	for call := range rediscalls.Each[*ast.CallExpr](r.body) {
		if !known[call] && !r.harmless(call) {
			return true
		}
	}
	return false
}

// harmless reports whether a call sends no command: of the standard library, of a client's
// answer, a builtin, a conversion.
func (r *region) harmless(call *ast.CallExpr) bool {
	if r.pass.TypesInfo.Types[call.Fun].IsType() || r.pass.TypesInfo.Types[call.Fun].IsBuiltin() {
		return true
	}
	fn := symbolic.Callee(r.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if _, client := rediscalls.LibraryOf(fn.Pkg()); client {
		return true
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	return !strings.Contains(first, ".") && fn.Pkg() != r.pass.Pkg
}
