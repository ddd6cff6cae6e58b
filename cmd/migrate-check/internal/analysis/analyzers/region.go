package analyzers

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// region is the visible code of a transaction: the function under a WATCH with the functions that get its connection,
// or the code that fills a pipeline.
type region struct {
	*reader
	bodies []*ast.BlockStmt
	conns  map[types.Object]bool     // the variables of its connection: tx, a pipeline, or redigo's connection
	bound  map[types.Object]ast.Expr // the arguments of followed calls, by parameter
	hidden bool                      // other code gets the connection, too
}

func (r *reader) newRegion(body *ast.BlockStmt, conn types.Object) *region {
	g := &region{reader: r, bodies: []*ast.BlockStmt{body}, conns: map[types.Object]bool{}, bound: map[types.Object]ast.Expr{}}
	if conn != nil {
		g.conns[conn] = true
	}
	for i := 0; i < len(g.bodies); i++ {
		g.follow(g.bodies[i])
	}
	return g
}

// watched returns the region of a WATCH; nil if its code is not visible.
func (r *reader) watched(watch *rediscalls.Call, call *ast.CallExpr) *region {
	switch {
	case watch.How == rediscalls.Method && watch.Library.Name == rediscalls.GoRedis:
		if at := r.functionArg(call); at >= 0 {
			if params, body := r.function(call.Args[at]); body != nil && len(params) == 1 {
				return r.newRegion(body, params[0])
			}
		}
	case watch.Library.Name == rediscalls.Redigo && watch.How == rediscalls.ByName:
		ident, ok := receiver(call).(*ast.Ident)
		fn, inFunc := r.around(call.Pos()).(*ast.FuncDecl)
		if !ok || !inFunc {
			return nil
		}
		if conn := r.pass.TypesInfo.Uses[ident]; conn != nil && conn.Pos() > fn.Body.Pos() { // else a caller may do the rest
			return r.newRegion(fn.Body, conn)
		}
	}
	return nil
}

// functionArg is the index of the first function among the arguments of a call; -1 if there is none.
func (r *reader) functionArg(call *ast.CallExpr) int {
	return slices.IndexFunc(call.Args, func(x ast.Expr) bool {
		t := r.pass.TypesInfo.TypeOf(x)
		return t != nil && isFunc(t)
	})
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// function returns the parameters and the body of a function: a literal, a variable with a literal, or a declared
// function of this package. body is nil if it is another.
func (r *reader) function(x ast.Expr) (params []types.Object, body *ast.BlockStmt) {
	var fn *ast.FuncType
	switch x := r.eval.Origin(x).(type) {
	case *ast.FuncLit:
		fn, body = x.Type, x.Body
	case *ast.Ident:
		fn, body = r.declared(r.pass.TypesInfo.Uses[x])
	case *ast.SelectorExpr:
		fn, body = r.declared(r.pass.TypesInfo.Uses[x.Sel])
	}
	if body == nil {
		return nil, nil
	}
	for _, field := range fn.Params.List {
		for _, name := range field.Names {
			params = append(params, r.pass.TypesInfo.Defs[name])
		}
		if len(field.Names) == 0 {
			params = append(params, nil)
		}
	}
	return params, body
}

func (r *reader) declared(obj types.Object) (*ast.FuncType, *ast.BlockStmt) {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Pkg() != r.pass.Pkg {
		return nil, nil
	}
	if decl, ok := r.around(fn.Pos()).(*ast.FuncDecl); ok && decl.Body != nil {
		return decl.Type, decl.Body
	}
	return nil, nil
}

// follow adds the functions of this package that get the connection as an argument.
func (g *region) follow(body *ast.BlockStmt) {
	seen := map[*ast.Ident]bool{} // as a receiver, or as a followed argument
	for call := range rediscalls.Each[*ast.CallExpr](body) {
		if ident, ok := receiver(call).(*ast.Ident); ok {
			seen[ident] = true
		}
		for i, arg := range call.Args {
			ident, ok := ast.Unparen(arg).(*ast.Ident)
			if !ok || !g.isConn(ident) {
				continue
			}
			params, inner := g.function(call.Fun)
			if inner == nil || i >= len(params) || params[i] == nil || len(params) != len(call.Args) {
				continue
			}
			seen[ident], g.conns[params[i]] = true, true
			if slices.Contains(g.bodies, inner) {
				continue
			}
			g.bodies = append(g.bodies, inner)
			for j, param := range params {
				if param != nil {
					g.bound[param] = call.Args[j]
				}
			}
		}
	}
	for ident := range rediscalls.Each[*ast.Ident](body) {
		g.hidden = g.hidden || g.isConn(ident) && !seen[ident]
	}
}

func (g *region) isConn(x ast.Expr) bool {
	ident, ok := ast.Unparen(x).(*ast.Ident)
	return ok && g.conns[g.pass.TypesInfo.Uses[ident]]
}

// inside are the calls in the region.
func (g *region) inside() (calls []*rediscalls.Call) {
	for _, c := range g.calls {
		around := func(body *ast.BlockStmt) bool { return body.Pos() <= c.Node.Pos() && c.Node.End() <= body.End() }
		if slices.ContainsFunc(g.bodies, around) {
			calls = append(calls, c)
		}
	}
	return calls
}

// transacts reports whether a MULTI may be sent by the connection of the WATCH. One of a client goes over another
// connection.
func (g *region) transacts() bool {
	return slices.ContainsFunc(g.inside(), func(c *rediscalls.Call) bool {
		call, called := c.Node.(*ast.CallExpr)
		switch {
		case c.Unknown || len(c.Of([]string{"EXEC", "MULTI"})) > 0 && c.How != rediscalls.Transaction:
			return true
		case c.How != rediscalls.Transaction:
			return false
		case !called || receiver(call) == nil || g.isConn(receiver(call)):
			return true
		}
		return g.ofTx(call)
	})
}

// watches reports whether the region sends a WATCH of its own.
func (g *region) watches() bool {
	return slices.ContainsFunc(g.inside(), func(c *rediscalls.Call) bool { return len(c.Of([]string{"WATCH"})) > 0 })
}

// writes are the commands in the region that write.
func (g *region) writes() (names []string) {
	for _, c := range g.inside() {
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
func (g *region) callsOthers() bool {
	known := map[ast.Node]bool{}
	for _, c := range g.inside() {
		known[c.Node] = true
	}
	for _, body := range g.bodies {
		for call := range rediscalls.Each[*ast.CallExpr](body) {
			if !known[call] && !g.harmless(call) {
				return true
			}
		}
	}
	return false
}

// harmless reports whether a call sends no command: of the standard library, of a client's answer, a builtin, a
// conversion, or a followed function.
func (g *region) harmless(call *ast.CallExpr) bool {
	if g.pass.TypesInfo.Types[call.Fun].IsType() || g.pass.TypesInfo.Types[call.Fun].IsBuiltin() {
		return true
	}
	fn := symbolic.Callee(g.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if _, client := rediscalls.LibraryOf(fn.Pkg()); client {
		return !slices.ContainsFunc(call.Args, g.opaque)
	}
	if _, body := g.declared(fn); body != nil && slices.Contains(g.bodies, body) {
		return true
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	return !strings.Contains(first, ".") && fn.Pkg() != g.pass.Pkg
}

// opaque reports whether an argument is a function with a body outside of the region.
func (g *region) opaque(x ast.Expr) bool {
	t := g.pass.TypesInfo.TypeOf(x)
	_, literal := ast.Unparen(x).(*ast.FuncLit)
	return t == nil || isFunc(t) && !literal
}
