package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// watch is a call of Watch.
type watch struct {
	*imports
	redis  *types.Package
	client ast.Expr
	ctx    ast.Expr
	keys   []ast.Expr
	fn     *ast.FuncLit
	fnVar  types.Object // what fn is called; nil if it stands in the call
	tx     types.Object // nil if it has no name
	uses   []txUse
}

// txUse is a method of the transaction that is called.
type txUse struct {
	name string
	call *ast.CallExpr
}

// newWatch reads a call. What it returns with an error is what was read by then, for a scaffold.
func newWatch(s *source, call *rediscalls.Call) (*watch, error) {
	w := &watch{imports: &imports{source: s, wanted: map[string]bool{}}, redis: call.Func.Pkg()}
	sel, ok := ast.Unparen(s.call.Fun).(*ast.SelectorExpr)
	if !ok {
		return w, errors.New("it is not called as a method")
	}
	w.client = sel.X
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
	if w.fn.Type.Params.NumFields() != 1 {
		return w, errors.New("the function takes other things than a transaction")
	}
	txType, ok := types.Unalias(s.info.TypeOf(w.fn.Type.Params.List[0].Type)).(*types.Pointer)
	if !ok {
		return w, errors.New("the function does not take a transaction")
	}
	named, ok := types.Unalias(txType.Elem()).(*types.Named)
	if !ok || named.Obj().Name() != "Tx" || named.Obj().Pkg() != w.redis {
		return w, errors.New("it is a method of the code's own, which may do more than a client's")
	}
	if len(w.fn.Type.Params.List[0].Names) == 1 {
		w.tx = s.info.Defs[w.fn.Type.Params.List[0].Names[0]]
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
	for _, results := range []*ast.FieldList{w.fn.Type.Results} {
		if results != nil && len(results.List) == 1 && len(results.List[0].Names) > 0 {
			return w, errors.New("the function's result has a name")
		}
	}
	return w, w.findUses()
}

// findFn finds the function that runs under the watch: a literal, or a variable that is
// set once, to a literal, and used only here.
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
	ast.Inspect(w.around(), func(n ast.Node) bool {
		if n, ok := n.(*ast.AssignStmt); ok && n.Tok == token.DEFINE && len(n.Lhs) == 1 && len(n.Rhs) == 1 {
			if id, ok := n.Lhs[0].(*ast.Ident); ok && w.info.Defs[id] == obj {
				w.fn, _ = n.Rhs[0].(*ast.FuncLit)
			}
		}
		return true
	})
	if w.fn == nil {
		return fmt.Errorf("what %s does is not written here, but where it comes from", obj.Name())
	}
	w.fnVar = obj
	return nil
}

// findUses finds what is done with the transaction.
func (w *watch) findUses() error {
	called := map[ast.Expr]*ast.CallExpr{}
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
				called[sel.X] = call
			}
		}
		return true
	})
	for _, id := range w.usesIn(w.fn.Body, w.tx) {
		call := called[id]
		if call == nil {
			return fmt.Errorf("%s is handed on, and what becomes of it is not seen", id.Name)
		}
		w.uses = append(w.uses, txUse{ast.Unparen(call.Fun).(*ast.SelectorExpr).Sel.Name, call})
	}
	return nil
}

// writes reports whether anything may be written under the watch: all but reads may.
func (w *watch) writes() bool {
	for _, use := range w.uses {
		if !reads[use.name] {
			return true
		}
	}
	return false
}

// reads are the methods that only read, answer at once, and are those of any client.
var reads = set("Get Exists MGet StrLen GetRange GetBit BitCount TTL PTTL Type " +
	"HGet HGetAll HMGet HExists HLen HKeys HVals HStrLen " +
	"LLen LRange LIndex SCard SIsMember SMIsMember SMembers " +
	"ZCard ZCount ZRange ZRangeWithScores ZRangeByScore ZRevRange ZRevRangeWithScores ZRank ZRevRank ZScore ZMScore")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// isName reports whether an expression is a name of the client's package: redis.Nil.
func (s *source) isName(e ast.Expr, pkg *types.Package, name string) bool {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	obj := s.info.Uses[sel.Sel]
	return obj != nil && obj.Pkg() == pkg && obj.Name() == name && obj.Parent() == pkg.Scope()
}

// isNilError reports whether an expression is nil.
func (s *source) isNil(e ast.Expr) bool { return s.info.Types[ast.Unparen(e)].IsNil() }
