package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// look rewrites a watch under which nothing is written: its reads become those of the client.
func (w *watch) look() (*analysis.SuggestedFix, error) {
	if len(w.uses) == 0 {
		return nil, errors.New("the transaction is not used at all: what the watch is for is not seen")
	}
	if e := w.clientInside(); e != nil {
		return nil, fmt.Errorf("%s is used inside, outside of the transaction", w.of(e))
	}
	if err := w.asSoon(); err != nil {
		return nil, err
	}
	if err := w.sameServer(); err != nil {
		return nil, err
	}
	client := w.info.TypeOf(w.client)
	for _, use := range w.uses {
		obj, _, _ := types.LookupFieldOrMethod(client, true, w.pass.Pkg, use.name)
		fn, ok := obj.(*types.Func)
		if !ok || fn.Pkg() != w.redis {
			return nil, fmt.Errorf("%s has no %s of the library", w.of(w.client), use.name)
		}
	}
	for v := range w.vars(w.client) {
		if w.assignedIn(v) {
			return nil, fmt.Errorf("%s is assigned in the function", v.Name())
		}
	}
	// Whoever is hidden in the function cannot be named there.
	for _, use := range w.usesIn(w.fn.Body, w.tx) {
		for v := range w.vars(w.client) {
			if f, ok := v.(*types.Var); ok && f.IsField() {
				continue
			}
			scope := w.pass.Pkg.Scope().Innermost(use.Pos())
			if _, obj := scope.LookupParent(v.Name(), use.Pos()); obj != v {
				return nil, fmt.Errorf("%s is the name of something else in the function", v.Name())
			}
		}
	}
	for _, e := range w.keys {
		for v := range w.vars(e) {
			if v.Parent() != nil && v.Parent() != w.pass.Pkg.Scope() && !w.isParam(v) && !w.keptInUse(v) {
				return nil, fmt.Errorf("%s would not be used any more", v.Name())
			}
		}
	}
	arg := w.call.Args[1]
	w.replacePart(w.call.Pos(), arg.Pos(), "")
	w.replacePart(arg.End(), w.call.End(), "()")
	w.replacePart(w.fn.Type.Params.Pos(), w.fn.Type.Params.End(), "()")
	for _, use := range w.usesIn(w.fn.Body, w.tx) {
		w.replace(use.Pos(), use.End(), w.of(w.client))
	}
	return w.fix("Read without a WATCH, which protects nothing here")
}

// sameServer refuses clients that send a read to another server than a WATCH, and keys of which
// it is not told where they are.
func (w *watch) sameServer() error {
	switch name := nameIn(w.info.TypeOf(w.client), w.redis); name {
	case "Client":
		return nil
	case "ClusterClient", "Ring":
		return fmt.Errorf("a %s may read from another server than it watches", name)
	}
	for _, use := range w.uses {
		if len(use.call.Args) < 2 || !w.watches(use.call.Args[1]) ||
			(use.name == "MGet" || use.name == "Exists") && len(use.call.Args) > 2 {
			return fmt.Errorf("%s may read from another server than is watched: the key is another", use.name)
		}
	}
	return nil
}

func (w *watch) watches(e ast.Expr) bool {
	for _, key := range w.keys {
		if w.same(key, e) {
			return true
		}
	}
	return false
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// keptInUse reports whether a variable is used beside this call and what it is assigned by.
func (w *watch) keptInUse(v types.Object) bool {
	assigned := map[*ast.Ident]bool{}
	ast.Inspect(w.around(), func(n ast.Node) bool {
		if n, ok := n.(*ast.AssignStmt); ok {
			for _, lhs := range n.Lhs {
				if id, ok := ast.Unparen(lhs).(*ast.Ident); ok {
					assigned[id] = true
				}
			}
		}
		return true
	})
	for _, use := range w.usesIn(w.around(), v) {
		inKeys := within(w.call, use.Pos()) && use.Pos() > w.call.Args[1].End()
		if !assigned[use] && !inKeys {
			return true
		}
	}
	return false
}

// clientInside finds a client in the function, by which something could be written.
func (w *watch) clientInside() (found ast.Expr) {
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && found == nil {
			if t := w.info.TypeOf(e); t != nil && w.isClient(t) {
				found = e
			}
		}
		return found == nil
	})
	return found
}

// isParam reports whether a variable is a parameter of the function around: it need not be used.
func (w *watch) isParam(v types.Object) bool {
	_, typ := w.inner()
	return typ != nil && within(typ, v.Pos())
}

func (w *watch) assignedIn(v types.Object) bool {
	return w.assigns(w.fn.Body, v)
}
