package driver

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// callers are the calls of a helper that passes a function parameter on to
// the client. The helper is one finding with all its callers.
func (b *build) callers(pkg *packages.Package, fn *ast.FuncDecl, d analysis.Diagnostic) []finding.Place {
	if fn == nil || !passes(pkg, fn, d) {
		return nil
	}
	obj, ok := pkg.TypesInfo.Defs[fn.Name].(*types.Func)
	if !ok {
		return nil
	}
	if b.calls == nil {
		b.calls = b.allCalls()
	}
	return b.calls[obj.FullName()]
}

// passes reports whether a finding uses a function parameter of the function around it.
func passes(pkg *packages.Package, fn *ast.FuncDecl, d analysis.Diagnostic) bool {
	params := map[types.Object]bool{}
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			v := pkg.TypesInfo.Defs[name]
			if v == nil {
				continue
			}
			if _, ok := v.Type().Underlying().(*types.Signature); ok {
				params[v] = true
			}
		}
	}
	if len(params) == 0 {
		return false
	}
	for ident := range rediscalls.Each[*ast.Ident](fn.Body) {
		if within(ident, d) && params[pkg.TypesInfo.Uses[ident]] {
			return true
		}
	}
	return false
}

func within(n ast.Node, d analysis.Diagnostic) bool {
	return d.Pos <= n.Pos() && n.End() <= max(d.End, d.Pos)
}

// allCalls are the calls of all functions with a function parameter.
func (b *build) allCalls() map[string][]finding.Place {
	calls := map[string][]finding.Place{}
	for _, pkg := range b.program.Packages {
		for ident, obj := range pkg.TypesInfo.Uses {
			fn, ok := obj.(*types.Func)
			if !ok || !takesFunc(fn) {
				continue
			}
			at := b.place(pkg.Fset, ident.Pos())
			at.Message = "called from"
			name := fn.Origin().FullName()
			calls[name] = append(calls[name], at)
		}
	}
	for name, places := range calls {
		slices.SortFunc(places, func(x, y finding.Place) int {
			return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
		})
		calls[name] = slices.Compact(places)
	}
	return calls
}

func takesFunc(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}
