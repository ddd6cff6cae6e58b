package rewrite

import (
	"fmt"
	"go/ast"
	"go/types"
)

// conflicts finds out whether the code goes by a conflict, which does not occur any more: around
// the call, in the function that would be called again, or where others get to know of it.
func (w *watch) conflicts() error {
	if n := w.namesConflict(w.fn.Body, nil); n != nil {
		return w.goesBy(n)
	}
	var loop ast.Node
	if w.loop != nil {
		loop = w.loop.stmt
	}
	if n := w.namesConflict(w.around(), loop); n != nil {
		return w.goesBy(n)
	}
	var called types.Object
	if fn, ok := w.around().(*ast.FuncDecl); ok {
		called = w.info.Defs[fn.Name]
	}
	for _, file := range w.pass.Files {
		for _, decl := range file.Decls {
			n := w.namesConflict(decl, nil)
			// Who has a WATCH may mean that one, if it does not call this function.
			if n != nil && decl != w.around() && (!w.hasWatch(decl) || len(w.usesIn(decl, called)) > 0) {
				return w.goesBy(n)
			}
		}
	}
	return nil
}

func (w *watch) goesBy(n ast.Node) error {
	at := w.pass.Fset.Position(n.Pos())
	place := fmt.Sprintf("line %d", at.Line)
	if w.pass.Fset.File(n.Pos()) != w.pass.Fset.File(w.call.Pos()) {
		place += " of another file"
	}
	return fmt.Errorf("%s goes by TxFailedErr, which an Update does not return", place)
}

// namesConflict finds where a part of the file names TxFailedErr, aside from another part.
func (w *watch) namesConflict(part, but ast.Node) (found ast.Node) {
	ast.Inspect(part, func(n ast.Node) bool {
		if n != nil && n == but || found != nil {
			return false
		}
		switch e := n.(type) {
		case *ast.Ident:
			if obj := w.info.Uses[e]; obj != nil && obj.Pkg() == w.redis && obj.Name() == "TxFailedErr" {
				found = n
			}
		}
		return true
	})
	return found
}

// hasWatch reports whether a declaration calls the Watch of a client.
func (w *watch) hasWatch(decl ast.Node) bool {
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "Watch" {
			fn, ok := w.info.Uses[id].(*types.Func)
			found = found || ok && fn.Pkg() == w.redis
		}
		return !found
	})
	return found
}
