package rediscalls

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Sends is a fact of a function: some of its parameters are the names of commands that it
// sends. So the call that gives it a name is the one that sends the command.
type Sends struct {
	Names []NameParam
}

// NameParam is a parameter that is the name of a command, or of the first of a command's
// words if it is a variadic one.
type NameParam struct {
	Index   int
	Library Library
}

// AFact makes it one.
func (*Sends) AFact() {}

// String is for tests.
func (s *Sends) String() string { return fmt.Sprintf("sends %v", s.Names) }

// Near is a fact of a package: it uses a client, or a package that does. In the others there
// is nothing to be found.
type Near struct{}

// AFact makes it one.
func (*Near) AFact() {}

// isNear reports whether a package is near a client.
func isNear(pass *analysis.Pass) bool {
	for _, pkg := range pass.Pkg.Imports() {
		if _, ok := libraryOf(pkg); ok || pass.ImportPackageFact(pkg, &Near{}) {
			return true
		}
	}
	return false
}

// wraps notes that the function around a call sends what it is given for some parameters,
// and reports whether that was not known.
func (f *finder) wraps(c *Call, params []*types.Var) (news bool) {
	for _, v := range params {
		fn, index := f.paramOf(v)
		if fn == nil {
			c.Unknown = true
			continue
		}
		sends := f.helpers[fn]
		if sends == nil {
			sends = &Sends{}
			f.helpers[fn] = sends
		}
		name := NameParam{index, c.Library}
		if !slices.Contains(sends.Names, name) {
			sends.Names = append(sends.Names, name)
			news = true
		}
	}
	return news
}

// paramOf finds the function that a variable is a parameter of.
func (f *finder) paramOf(v *types.Var) (fn *types.Func, index int) {
	for _, file := range f.pass.Files {
		if file.FileStart > v.Pos() || v.Pos() >= file.FileEnd {
			continue
		}
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.FuncDecl)
			if !ok || v.Pos() < decl.Pos() || v.Pos() >= decl.End() {
				continue
			}
			fn, ok := f.pass.TypesInfo.Defs[decl.Name].(*types.Func)
			if !ok {
				return nil, 0
			}
			params := fn.Signature().Params()
			for i := range params.Len() {
				if params.At(i) == v {
					return fn, i
				}
			}
		}
	}
	return nil, 0
}

// sendsOf returns what is known of a function that is called.
func (f *finder) sendsOf(fn *types.Func) *Sends {
	if fn.Pkg() == f.pass.Pkg {
		return f.helpers[fn]
	}
	var fact Sends
	if fn.Pkg() != nil && f.pass.ImportObjectFact(fn, &fact) {
		return &fact
	}
	return nil
}

// helperCalls resolves a call of a function that is given the name of a command; each name is
// a call of its own.
func (f *finder) helperCalls(n *ast.CallExpr, fn *types.Func) (calls []*Call, news bool) {
	sends := f.sendsOf(fn)
	if sends == nil {
		return nil, false
	}
	for _, name := range sends.Names {
		if name.Index >= len(n.Args) {
			continue
		}
		c := &Call{Node: n, Func: fn, Library: name.Library, Args: n.Args[name.Index:], Spread: n.Ellipsis.IsValid()}
		news = f.byName(c, 0) || news
		if len(c.Commands) > 0 || c.Unknown {
			calls = append(calls, c)
		}
	}
	return calls, news
}
