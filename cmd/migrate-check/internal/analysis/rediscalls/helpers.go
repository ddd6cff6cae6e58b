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
		param, ok := f.params[v]
		if !ok {
			c.Unknown = true
			continue
		}
		news = f.helps(param.owner, NameParam{param.index, c.Library}) || news
		for _, method := range f.promises(param.owner) {
			// Others may keep the promise in ways of their own.
			news = f.helps(method, NameParam{param.index, Library{Name: c.Library.Name}}) || news
		}
	}
	return news
}

// helps notes that what is called by an object sends one of its parameters, and reports whether
// that was not known.
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

// promises are the methods of this package's interfaces behind which a method hides.
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

// sendsOf returns what is known of a function that is called, or of a variable that holds one.
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

// helperCalls resolves a call of what is given the name of a command; each name is a call of
// its own.
func (f *finder) helperCalls(n *ast.CallExpr, called types.Object, args []ast.Expr) (calls []*Call, news bool) {
	sends := f.sendsOf(called)
	if sends == nil {
		return nil, false
	}
	fn, ok := called.(*types.Func)
	if !ok { // it is reported by the name of the variable
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

// words are the arguments of a helper that may be those of the command: its name, and what
// follows. A list ends them, as in t.Command("GET", redis.Args{key}, handler), and so does what
// no command takes.
func words(sig *types.Signature, name int, args []ast.Expr, spread bool) (words []ast.Expr, list bool) {
	params := sig.Params()
	for i := name; i < min(params.Len(), len(args)); i++ {
		if sig.Variadic() && i == params.Len()-1 {
			break
		}
		switch params.At(i).Type().Underlying().(type) {
		case *types.Slice: // which may have the name, too
			return args[name : i+1], true
		case *types.Signature, *types.Struct, *types.Pointer, *types.Chan, *types.Map:
			return args[name:i], false
		}
	}
	return args[name:], spread
}
