package analyzers

import (
	"go/ast"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// A WATCH without an EXEC protects nothing.
const idleRule = "MC104"

// protects reports a WATCH that guards no write, if all code under it is visible. It returns whether it reported one.
func (r *reader) protects(watch *rediscalls.Call, call *ast.CallExpr, under *region) bool {
	report := func(rule, text string) bool {
		watch.Report(r.pass, rule, text)
		return true
	}
	if watch.Library.Name == rediscalls.Redigo && fromPool(call) {
		return report(idleRule, "WATCH on a connection from the pool that is lost with it: no EXEC can follow")
	}
	if under == nil || under.hidden {
		return false
	}
	_, own := rediscalls.LibraryOf(watch.Func.Pkg())
	keyless := own && watch.How == rediscalls.Method && r.functionArg(call) == len(call.Args)-1 && !under.watches()
	switch {
	case keyless && (under.transacts() || len(under.writes()) > 0):
		return report(idleRule, "this WATCH names no key, so its EXEC never fails: it loses updates today")
	case under.transacts():
		return false
	case len(under.writes()) > 0:
		return report(idleRule, "under this WATCH "+strings.Join(under.writes(), ", ")+" is sent outside of its MULTI and EXEC: "+
			"it was never guarded, and loses updates today")
	case !under.callsOthers():
		return report(idleRule+"/note", "nothing is written under this WATCH: read without it")
	}
	return false
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
