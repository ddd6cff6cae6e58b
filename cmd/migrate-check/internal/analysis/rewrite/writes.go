package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

// written is a command that writes, or may write.
type written struct {
	txUse
	repeated bool // in a branch or a loop: it is executed not at all, or several times
}

// ofOneKey are the methods that write their first key only. A method that is neither here nor in reads may write anything.
var ofOneKey = set("Set SetNX SetXX SetEx SetArgs GetSet GetDel GetEx Append Incr IncrBy IncrByFloat Decr DecrBy SetRange SetBit " +
	"BitField Expire ExpireNX ExpireXX ExpireGT ExpireLT ExpireAt PExpire PExpireAt Persist Del Unlink " +
	"HSet HMSet HSetNX HDel HIncrBy HIncrByFloat SAdd SRem SPop SPopN " +
	"ZAdd ZAddNX ZAddXX ZAddArgs ZAddGT ZAddLT ZRem ZIncrBy ZRemRangeByRank ZRemRangeByScore ZRemRangeByLex ZPopMin ZPopMax " +
	"LPush LPushX RPush RPushX LPop LPopCount RPop RPopCount LRem LSet LTrim LInsert LInsertBefore LInsertAfter " +
	"XAdd XDel XTrimMaxLen XTrimMinID PFAdd GeoAdd")

// control are the methods of a transaction or a pipeline that are no command of its own.
var control = set("Pipeline Pipelined TxPipeline TxPipelined Exec Discard Len Close String Context Unwatch")

// allWrites lists the writes of the function. It returns an error if some of them may be out of sight, or go to a key that is
// not watched: an Update in place of the function would drop them.
func (w *watch) allWrites() (all []written, err error) {
	if w.fn == nil {
		return nil, errors.New("the writes of the function are not seen here")
	}
	var lost []string
	for path := range w.paths() {
		e, ok := path[0].(ast.Expr)
		if !ok {
			continue
		}
		if w.handsOn(e, path) {
			return nil, fmt.Errorf("%s is handed on, and what is written there is not seen", w.inLine(e))
		}
		call, ok := e.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch name, ok := w.command(call); {
		case !ok || reads[name]:
		case control[name]:
			if fn := filler(call); fn != nil {
				return nil, fmt.Errorf("%s is declared elsewhere, and what it writes is not seen", w.inLine(fn))
			}
		case !w.single(name, call):
			lost = append(lost, w.inLine(call))
		default:
			all = append(all, written{txUse{name, call}, w.repeats(path)})
		}
	}
	if len(lost) > 0 {
		return nil, fmt.Errorf("an Update of what is watched would drop %s", strings.Join(lost, " and "))
	}
	return all, nil
}

// paths lists the nodes of the function with the nodes around them, innermost first.
func (w *watch) paths() func(yield func([]ast.Node) bool) {
	return func(yield func([]ast.Node) bool) {
		var stack []ast.Node
		stop := false
		ast.Inspect(w.fn.Body, func(n ast.Node) bool {
			if n == nil {
				stack = stack[1:]
				return true
			}
			stack = slices.Insert(stack, 0, n)
			stop = stop || !yield(stack)
			return true
		})
	}
}

// command returns the name of a method of a client, a transaction or a pipeline.
func (w *watch) command(call *ast.CallExpr) (name string, ok bool) {
	fn := symbolic.Callee(w.info, call)
	_, recv, name := method(call)
	if fn == nil || fn.Pkg() != w.redis || recv == nil {
		return "", false
	}
	return name, sends(w.info.TypeOf(recv))
}

// sends reports whether values of a type have the commands of a hash.
func sends(t types.Type) bool {
	if t == nil {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "HSet")
	_, ok := obj.(*types.Func)
	return ok
}

// single reports whether a command writes one key, which is watched.
func (w *watch) single(name string, call *ast.CallExpr) bool {
	if !ofOneKey[name] || len(call.Args) < 2 || call.Ellipsis.IsValid() && len(call.Args) == 2 ||
		(name == "Del" || name == "Unlink") && len(call.Args) > 2 {
		return false
	}
	return slices.ContainsFunc(w.keys, func(key ast.Expr) bool { return w.same(key, call.Args[1]) && w.outside(key) })
}

// handsOn reports whether an expression passes a transaction or a pipeline on: it is neither the receiver of a call, nor a
// variable that gets it.
func (w *watch) handsOn(e ast.Expr, path []ast.Node) bool {
	t := w.info.TypeOf(e)
	if t == nil || !isTx(t, w.redis) && !w.isPipeline(t) || w.info.Types[e].IsType() {
		return false
	}
	if id, ok := e.(*ast.Ident); ok && w.info.Defs[id] != nil {
		return false
	}
	for i := 1; i < len(path); i++ {
		switch n := path[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.SelectorExpr:
			if i+1 < len(path) && within(n.X, e.Pos()) {
				call, ok := path[i+1].(*ast.CallExpr)
				return !ok || ast.Unparen(call.Fun) != ast.Expr(n)
			}
			return false // the field of a selector, which is looked at as a whole
		case *ast.AssignStmt:
			return slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool { return !w.ownPipeline(to) })
		case *ast.ValueSpec:
			return slices.ContainsFunc(n.Names, func(to *ast.Ident) bool { return !w.ownPipeline(to) })
		case *ast.ExprStmt:
			return false
		}
		return true
	}
	return true
}

// ownPipeline reports whether an expression is a variable of the function for a transaction or a pipeline.
func (w *watch) ownPipeline(e ast.Expr) bool {
	v := w.object(e)
	return v != nil && within(w.fn, v.Pos()) && (isTx(v.Type(), w.redis) || w.isPipeline(v.Type()))
}

// isPipeline reports whether a type is one of the library for a pipeline, or for a pipeline or a client.
func (w *watch) isPipeline(t types.Type) bool {
	name := typeName(t, w.redis)
	return name == "Pipeliner" || name == "Pipeline" || name == "Cmdable" || name == "StatefulCmdable"
}

// filler is the function that fills a pipeline, unless it is written in the call.
func filler(call *ast.CallExpr) ast.Expr {
	for _, arg := range call.Args {
		if _, literal := ast.Unparen(arg).(*ast.FuncLit); literal {
			return nil
		}
	}
	if len(call.Args) < 2 {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

// repeats reports whether a call is in a branch, a loop, or a function that is called elsewhere.
func (w *watch) repeats(path []ast.Node) bool {
	for i, n := range path[1:] {
		inner := path[i]
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause, *ast.DeferStmt, *ast.GoStmt:
			return true
		case *ast.IfStmt:
			if inner != n.Init {
				return true
			}
		case *ast.FuncLit:
			call, ok := path[i+2].(*ast.CallExpr)
			if !ok {
				return true
			}
			if _, ok := w.command(call); !ok {
				return true
			}
		}
	}
	return false
}

// inLine is the code of a node in a line.
func (w *watch) inLine(n ast.Node) string { return strings.Join(strings.Fields(w.of(n)), " ") }
