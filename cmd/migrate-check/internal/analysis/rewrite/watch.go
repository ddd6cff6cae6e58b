package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// watch is a call of Watch.
type watch struct {
	*source
	redis  *types.Package
	client ast.Expr
	ctx    ast.Expr
	keys   []ast.Expr
	fn     *ast.FuncLit
	fnVar  types.Object // the variable that holds fn; nil if fn stands in the call
	tx     types.Object // nil if it has no name
	uses   []txUse
}

// txUse is a call of a method of the transaction.
type txUse struct {
	name string
	call *ast.CallExpr
}

// newWatch reads a call. On an error, the fields read so far serve the scaffold.
func newWatch(s *source, call *rediscalls.Call) (*watch, error) {
	w := &watch{source: s, redis: call.Func.Pkg()}
	_, w.client, _ = method(s.call)
	if w.client == nil {
		return w, errors.New("it is not called as a method")
	}
	if call.Library.Name != rediscalls.GoRedis || call.Library.Major < 8 {
		return w, fmt.Errorf("it is of go-redis v%d, which takes no context; version 8 or later is rewritten", call.Library.Major)
	}
	sig := call.Func.Signature()
	if sig.Params().Len() != 3 || !sig.Variadic() || len(s.call.Args) < 2 {
		return w, errors.New("it watches one more key on the way, and an Update is of one")
	}
	w.ctx, w.keys = s.call.Args[0], s.call.Args[2:]
	if err := w.findFn(s.call.Args[1]); err != nil {
		return w, err
	}
	params, results := w.fn.Type.Params, w.fn.Type.Results
	if params.NumFields() != 1 || !isTx(s.info.TypeOf(params.List[0].Type), w.redis) {
		return w, errors.New("it is a method of the code's own, which may do more than a client's")
	}
	if len(params.List[0].Names) == 1 {
		w.tx = s.info.Defs[params.List[0].Names[0]]
	}
	if s.call.Ellipsis.IsValid() {
		return w, errors.New("its keys are a slice, of any number")
	}
	if !s.plain(w.client) {
		return w, errors.New("the client is not a plain expression")
	}
	for _, key := range w.keys {
		if !s.plain(key) {
			return w, fmt.Errorf("the key %s is not a plain expression: calling it again may tell another", s.of(key))
		}
	}
	if results != nil && len(results.List) == 1 && len(results.List[0].Names) > 0 {
		return w, errors.New("the function's result has a name")
	}
	for _, id := range w.usesIn(w.fn.Body, w.tx) {
		use := txUse{}
		for e := range rediscalls.Each[*ast.CallExpr](w.fn.Body) {
			if call, recv, name := method(e); recv == ast.Expr(id) {
				use = txUse{name, call}
			}
		}
		if use.call == nil {
			return w, fmt.Errorf("%s is handed on, and its uses there are not seen", id.Name)
		}
		w.uses = append(w.uses, use)
	}
	return w, nil
}

// isTx reports whether a type is a pointer to the client's transaction.
func isTx(t types.Type, redis *types.Package) bool {
	_, pointer := types.Unalias(t).(*types.Pointer)
	return pointer && typeName(t, redis) == "Tx"
}

// findFn finds the function that runs under the watch: a literal, or a variable that gets one and is used only here.
func (w *watch) findFn(arg ast.Expr) error {
	if fn, ok := ast.Unparen(arg).(*ast.FuncLit); ok {
		w.fn = fn
		return nil
	}
	obj, ok := w.object(arg).(*types.Var)
	if !ok || obj.Parent() == nil || obj.Parent() == w.pass.Pkg.Scope() {
		return errors.New("the function is declared elsewhere")
	}
	if len(w.usesIn(w.around(), obj)) != 1 {
		return fmt.Errorf("%s is used elsewhere, too", obj.Name())
	}
	for n := range rediscalls.Each[*ast.AssignStmt](w.around()) {
		if n.Tok == token.DEFINE && len(n.Lhs) == 1 && len(n.Rhs) == 1 && w.object(n.Lhs[0]) == obj {
			w.fn, _ = n.Rhs[0].(*ast.FuncLit)
		}
	}
	if w.fn == nil {
		return fmt.Errorf("the function in %s is not written here", obj.Name())
	}
	w.fnVar = obj
	return nil
}

// reads are the methods that only read, and that every client has, too.
var reads = set("Get Exists MGet StrLen GetRange GetBit BitCount TTL PTTL Type " +
	"HGet HGetAll HMGet HExists HLen HKeys HVals HStrLen " +
	"LLen LRange LIndex SCard SIsMember SMIsMember SMembers " +
	"ZCard ZCount ZRange ZRangeWithScores ZRangeByScore ZRevRange ZRevRangeWithScores ZRank ZRevRank ZScore ZMScore")

// writes reports whether the function may write under the watch: every method but a read may.
func (w *watch) writes() bool {
	return slices.ContainsFunc(w.uses, func(use txUse) bool { return !reads[use.name] })
}

// look rewrites a watch under which nothing is written: its reads become those of the client.
func (w *watch) look() (*analysis.SuggestedFix, error) {
	if _, why := w.firstRead(); why != "" {
		return nil, errors.New(why)
	}
	switch w.parent().(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return nil, fmt.Errorf("it is called later, when %s may be another", w.of(w.client))
	}
	for inside := range rediscalls.Each[ast.Expr](w.fn.Body) {
		if t := w.info.TypeOf(inside); t != nil && w.isClient(t) {
			return nil, fmt.Errorf("%s is used inside, outside of the transaction", w.of(inside))
		}
	}
	client := w.vars(w.client)
	if v := w.assigned(w.fn.Body, client); v != nil {
		return nil, fmt.Errorf("%s is assigned in the function", v.Name())
	}
	for _, use := range w.uses {
		if err := w.readable(use); err != nil {
			return nil, err
		}
		for v := range client {
			if f, ok := v.(*types.Var); ok && !f.IsField() && w.lookup(v.Name(), use.call.Pos()) != v {
				return nil, fmt.Errorf("%s is the name of something else in the function", v.Name())
			}
		}
	}
	arg := w.call.Args[1]
	w.replace(w.call.Pos(), arg.Pos(), "")
	w.replace(arg.End(), w.call.End(), "()")
	w.replace(w.fn.Type.Params.Pos(), w.fn.Type.Params.End(), "()")
	for _, id := range w.usesIn(w.fn.Body, w.tx) {
		w.replace(id.Pos(), id.End(), w.of(w.client))
	}
	return w.fix("Read without a WATCH, which protects nothing here")
}

// readable refuses a read that the client would send with another context, or to another server than the WATCH.
func (w *watch) readable(use txUse) error {
	if len(use.call.Args) == 0 || !w.same(w.ctx, use.call.Args[0]) || !w.plain(w.ctx) {
		return fmt.Errorf("%s has another context than the Watch", use.name)
	}
	obj, _, _ := types.LookupFieldOrMethod(w.info.TypeOf(w.client), true, w.pass.Pkg, use.name)
	if fn, ok := obj.(*types.Func); !ok || fn.Pkg() != w.redis {
		return fmt.Errorf("%s has no %s of the library", w.of(w.client), use.name)
	}
	switch name := typeName(w.info.TypeOf(w.client), w.redis); name {
	case "Client":
		return nil
	case "ClusterClient", "Ring":
		return fmt.Errorf("a %s may read from another server than it watches", name)
	}
	args := use.call.Args
	if len(args) < 2 || !slices.ContainsFunc(w.keys, func(key ast.Expr) bool { return w.same(key, args[1]) }) ||
		(use.name == "MGet" || use.name == "Exists") && len(args) > 2 {
		return fmt.Errorf("%s may read from another server than is watched: the key is another", use.name)
	}
	return nil
}

// isClient reports whether a type has the Watch of a client.
func (w *watch) isClient(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "Watch")
	fn, ok := obj.(*types.Func)
	return ok && fn.Pkg() == w.redis && fn.Signature().Params().Len() == 3
}

// store returns an expression for the store of an update.
func (w *watch) store(asked string) (string, error) {
	if asked != "" {
		return w.asked(asked)
	}
	const otherwise = "may be of another server: name it with -redistx.store if it is not"
	stores, clients := w.inScope(isStore), w.inScope(w.isClient)
	switch {
	case len(stores) == 0:
		return "", errors.New("there is no rmw.Store in scope: give the code one, and name it with -redistx.store if it is not found")
	case len(stores) > 1:
		return "", fmt.Errorf("there is more than one rmw.Store in scope (%s): name one with -redistx.store", strings.Join(stores, ", "))
	case len(clients) > 1:
		return "", fmt.Errorf("there is more than one client in scope (%s), so %s %s", strings.Join(clients, ", "), stores[0], otherwise)
	case !slices.Contains(clients, w.of(w.client)):
		return "", fmt.Errorf("%s is not found beside it, so %s %s", w.of(w.client), stores[0], otherwise)
	}
	return stores[0], nil
}

// asked returns the expression of the option, if it is a store at the call.
func (w *watch) asked(text string) (string, error) {
	t, err := types.Eval(w.pass.Fset, w.pass.Pkg, w.call.Pos(), text)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s, which was asked for, means nothing here", text)
	case !isStore(t.Type):
		return "", fmt.Errorf("%s, which was asked for, is no rmw.Store here", text)
	}
	return text, nil
}

// inScope lists the variables in scope, and the fields of the receiver, that are of a type.
func (w *watch) inScope(want func(types.Type) bool) (found []string) {
	pos := w.call.Pos()
	for scope := w.pass.Pkg.Scope().Innermost(pos); scope != nil && scope != types.Universe; scope = scope.Parent() {
		for _, name := range scope.Names() {
			v, ok := scope.Lookup(name).(*types.Var)
			if ok && w.lookup(name, pos) == types.Object(v) && want(v.Type()) { // neither hidden nor declared below
				found = append(found, name)
			}
		}
	}
	decl, ok := w.around().(*ast.FuncDecl)
	if ok && decl.Recv != nil && len(decl.Recv.List[0].Names) == 1 {
		id := decl.Recv.List[0].Names[0]
		recv := w.info.Defs[id]
		if recv == nil || w.lookup(id.Name, pos) != recv {
			return found
		}
		t := types.Unalias(recv.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if fields, ok := t.Underlying().(*types.Struct); ok {
			for f := range fields.Fields() {
				if want(f.Type()) && !f.Embedded() {
					found = append(found, id.Name+"."+f.Name())
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// isStore reports whether a type has the Update of rmw.Store. The file need not import rmw.
func isStore(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "Update")
	fn, ok := obj.(*types.Func)
	if !ok {
		return false
	}
	params, results := fn.Signature().Params(), fn.Signature().Results()
	return params.Len() == 3 && results.Len() == 2 && !fn.Signature().Variadic() && isOf(params.At(0).Type(), "context", "Context") &&
		isOf(params.At(1).Type(), rmwPath, "Key") && isOf(params.At(2).Type(), rmwPath, "UpdateFunc") &&
		isOf(results.At(0).Type(), rmwPath, "Result")
}
