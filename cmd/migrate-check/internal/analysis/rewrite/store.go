package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"
)

// store returns an expression for the store that an update goes to.
func (w *watch) store(o Options) (string, error) {
	if o.Store != "" {
		return w.asked(o.Store)
	}
	stores, clients := w.inScope(isStore), w.inScope(w.isClient)
	switch {
	case len(stores) == 0:
		return "", errors.New("there is no rmw.Store in scope: give the code one, and name it with -redistx.store if it is not found")
	case len(stores) > 1:
		return "", fmt.Errorf("there is more than one rmw.Store in scope (%s): name one with -redistx.store", strings.Join(stores, ", "))
	case len(clients) > 1:
		return "", fmt.Errorf("there is more than one client in scope (%s), so %s may be of another server: name it with -redistx.store if it is not",
			strings.Join(clients, ", "), stores[0])
	case !slices.Contains(clients, w.of(w.client)):
		return "", fmt.Errorf("%s is not found beside it, so %s may be of another server: name it with -redistx.store if it is not",
			w.of(w.client), stores[0])
	}
	return stores[0], nil
}

// asked takes the expression that was asked for, if it is a store here.
func (w *watch) asked(text string) (string, error) {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return "", fmt.Errorf("%q is no expression", text)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if err := types.CheckExpr(w.pass.Fset, w.pass.Pkg, w.call.Pos(), e, info); err != nil {
		return "", fmt.Errorf("%s, which was asked for, means nothing here", text)
	}
	if !isStore(info.Types[e].Type) {
		return "", fmt.Errorf("%s, which was asked for, is no rmw.Store here", text)
	}
	return text, nil
}

// inScope lists what a variable that can be seen from the call is, or a field of the
// receiver of the method around.
func (w *watch) inScope(want func(types.Type) bool) (found []string) {
	pos := w.call.Pos()
	for scope := w.pass.Pkg.Scope().Innermost(pos); scope != nil && scope != types.Universe; scope = scope.Parent() {
		for _, name := range scope.Names() {
			if _, obj := w.pass.Pkg.Scope().Innermost(pos).LookupParent(name, pos); obj != scope.Lookup(name) {
				continue // it is declared below, or hidden
			}
			if v, ok := scope.Lookup(name).(*types.Var); ok && want(v.Type()) {
				found = append(found, name)
			}
		}
	}
	decl, ok := w.around().(*ast.FuncDecl)
	if !ok || decl.Recv == nil || len(decl.Recv.List[0].Names) != 1 {
		return found
	}
	id := decl.Recv.List[0].Names[0]
	recv := w.info.Defs[id]
	if recv == nil {
		return found
	}
	if _, obj := w.pass.Pkg.Scope().Innermost(pos).LookupParent(id.Name, pos); obj != recv {
		return found
	}
	t := recv.Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if fields, ok := t.Underlying().(*types.Struct); ok {
		for f := range fields.Fields() {
			if want(f.Type()) && !f.Embedded() {
				found = append(found, id.Name+"."+f.Name())
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// isStore reports whether a type has the Update of rmw.Store. The code need not import rmw to have
// a value of such a type.
func isStore(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "Update")
	fn, ok := obj.(*types.Func)
	if !ok {
		return false
	}
	sig := fn.Signature()
	return sig.Params().Len() == 3 && sig.Results().Len() == 2 && !sig.Variadic() &&
		isContext(sig.Params().At(0).Type()) && isRMW(sig.Params().At(1).Type(), "Key") &&
		isRMW(sig.Params().At(2).Type(), "UpdateFunc") && isRMW(sig.Results().At(0).Type(), "Result")
}

func isRMW(t types.Type, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == rmwPath
}

// isClient reports whether a type has the Watch of a client.
func (w *watch) isClient(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "Watch")
	fn, ok := obj.(*types.Func)
	return ok && fn.Pkg() == w.redis && fn.Signature().Params().Len() == 3
}
