package rediscalls

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Sends is the fact of a helper: some of its parameters are the names of commands that it
// sends. So a call of the helper sends the command.
type Sends struct {
	Names []NameParam
}

// NameParam is a parameter with the name of a command. A variadic one has all words of the command.
type NameParam struct {
	Index   int
	Library Library
}

// AFact implements analysis.Fact.
func (*Sends) AFact() {}

// Near is the fact of a package that imports a client, also through other packages.
type Near struct{}

// AFact implements analysis.Fact.
func (*Near) AFact() {}

// isNear reports whether a package imports a client, also through other packages.
func isNear(pass *analysis.Pass) bool {
	for _, pkg := range pass.Pkg.Imports() {
		if _, ok := LibraryOf(pkg); ok || pass.ImportPackageFact(pkg, &Near{}) {
			return true
		}
	}
	return false
}

// wraps notes that the functions of some parameters are helpers, and reports whether one of them is new.
func (f *finder) wraps(c *Call, params []*types.Var) (news bool) {
	for _, v := range params {
		param, ok := f.params[v]
		if !ok {
			c.Unknown = true
			continue
		}
		news = f.helps(param.owner, NameParam{param.index, c.Library}) || news
		for _, method := range f.promises(param.owner) {
			// Other implementations of the interface may use another client.
			news = f.helps(method, NameParam{param.index, Library{Name: c.Library.Name}}) || news
		}
	}
	return news
}

// helps notes a parameter of a helper, and reports whether it is new.
func (f *finder) helps(owner types.Object, name NameParam) (news bool) {
	sends := f.helpers[owner]
	if sends == nil {
		sends = &Sends{}
		f.helpers[owner] = sends
	}
	if slices.ContainsFunc(sends.Names, func(n NameParam) bool { return n.Index == name.Index }) {
		return false
	}
	sends.Names = append(sends.Names, name)
	return true
}

// promises lists the interface methods of this package that a method implements.
func (f *finder) promises(owner types.Object) (methods []*types.Func) {
	fn, ok := owner.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return nil
	}
	recv := fn.Signature().Recv().Type()
	for _, name := range f.pass.Pkg.Scope().Names() {
		t, ok := f.pass.Pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		named, ok := t.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 {
			continue
		}
		i, ok := named.Underlying().(*types.Interface)
		if !ok || !i.IsMethodSet() || !types.Implements(recv, i) {
			continue
		}
		for method := range i.Methods() {
			if method.Name() == fn.Name() && method.Pkg() == f.pass.Pkg {
				methods = append(methods, method)
			}
		}
	}
	return methods
}

// sendsOf returns the fact of a function, or of a variable that holds one.
func (f *finder) sendsOf(called types.Object) *Sends {
	if called.Pkg() == f.pass.Pkg {
		return f.helpers[called]
	}
	var fact Sends
	if called.Pkg() != nil && f.pass.ImportObjectFact(called, &fact) {
		return &fact
	}
	return nil
}

// helperCalls resolves a call of a helper. It returns a Call for each name of a command.
func (f *finder) helperCalls(n *ast.CallExpr, called types.Object, args []ast.Expr) (calls []*Call, news bool) {
	sends := f.sendsOf(called)
	if sends == nil {
		return nil, false
	}
	fn, ok := called.(*types.Func)
	if !ok { // the report shows the name of the variable
		sig, ok := called.Type().Underlying().(*types.Signature)
		if !ok {
			return nil, false
		}
		fn = types.NewFunc(called.Pos(), called.Pkg(), called.Name(), sig)
	}
	for _, name := range sends.Names {
		if name.Index >= len(args) {
			continue
		}
		c := &Call{Node: n, Func: fn, Library: name.Library}
		c.Args, c.Spread = words(fn.Signature(), name.Index, args, n.Ellipsis.IsValid())
		news = f.byName(c, 0) || news
		if len(c.Commands) > 0 || c.Unknown {
			calls = append(calls, c)
		}
	}
	return calls, news
}

// words lists the arguments of a helper that may be words of the command: its name, and those behind it up to a list,
// as in t.Command("GET", redis.Args{key}, handler), or to a value that no command takes.
func words(sig *types.Signature, name int, args []ast.Expr, spread bool) (words []ast.Expr, list bool) {
	params := sig.Params()
	for i := name; i < min(params.Len(), len(args)); i++ {
		if sig.Variadic() && i == params.Len()-1 {
			break
		}
		switch params.At(i).Type().Underlying().(type) {
		case *types.Slice: // also if it starts with the name
			return args[name : i+1], true
		case *types.Signature, *types.Struct, *types.Pointer, *types.Chan, *types.Map:
			return args[name:i], false
		}
	}
	return args[name:], spread
}
