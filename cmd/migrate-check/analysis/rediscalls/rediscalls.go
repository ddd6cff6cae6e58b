package rediscalls

import (
	"go/ast"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer finds the calls. Its result is a []*Call, in the order of the source.
var Analyzer = &analysis.Analyzer{
	Name:       "rediscalls",
	Doc:        "find the calls that send commands to Redis",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[[]*Call](),
	Run:        run,
}

// Call is a place in the code that sends commands, or gets ready to.
type Call struct {
	Node     ast.Node    // an *ast.CallExpr; for a method that is taken as a value, the *ast.SelectorExpr
	Func     *types.Func // what is called
	Library  Library
	How      How
	Commands []string // that it may send, in upper case: "GET", "SCRIPT LOAD"
	Unknown  bool     // it may send others, too: its name is not known before it runs
	Args     []ast.Expr
}

// How is how a call says what it sends.
type How uint8

const (
	// Method is a method of a typed client: rdb.Get.
	Method How = iota
	// ByName is a command that is a text: conn.Do("GET").
	ByName
	// Transaction is a pipeline within MULTI and EXEC: rdb.TxPipelined.
	Transaction
	// Builder is a command that is built first: client.B().Get().
	Builder
)

func run(pass *analysis.Pass) (any, error) {
	f := &finder{pass: pass, called: map[*ast.SelectorExpr]bool{}}
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.CallExpr)(nil), (*ast.SelectorExpr)(nil)}, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			f.call(n)
		case *ast.SelectorExpr:
			f.value(n)
		}
	})
	return f.calls, nil
}

// finder collects the calls of a package.
type finder struct {
	pass   *analysis.Pass
	called map[*ast.SelectorExpr]bool // these are no values
	calls  []*Call
}

func (f *finder) call(n *ast.CallExpr) {
	fun := ast.Unparen(n.Fun)
	sel, _ := fun.(*ast.SelectorExpr)
	if sel != nil {
		f.called[sel] = true
	}
	fn := f.callee(fun)
	if fn == nil {
		return
	}
	f.add(f.resolve(n, fn, n.Args))
}

// value takes a method that is not called here for one that is called somewhere.
func (f *finder) value(n *ast.SelectorExpr) {
	if f.called[n] {
		return
	}
	if fn := f.callee(n); fn != nil {
		f.add(f.resolve(n, fn, nil))
	}
}

func (f *finder) add(c *Call) {
	if c != nil {
		f.calls = append(f.calls, c)
	}
}

// callee is the function that an expression names; nil if it is another value.
func (f *finder) callee(fun ast.Expr) *types.Func {
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		fn, _ := f.pass.TypesInfo.Uses[fun.Sel].(*types.Func)
		return fn
	case *ast.Ident:
		fn, _ := f.pass.TypesInfo.Uses[fun].(*types.Func)
		return fn
	}
	return nil
}

// resolve tells what a function sends; nil if nothing.
func (f *finder) resolve(n ast.Node, fn *types.Func, args []ast.Expr) *Call {
	fn = fn.Origin()
	lib, ok := libraryOf(fn.Pkg())
	if !ok {
		if lib, ok = shapeOf(fn); !ok {
			return nil
		}
	}
	c := &Call{Node: n, Func: fn, Library: lib, Args: args}
	switch lib.Name {
	case GoRedis:
		ok = f.goRedis(c)
	case Redigo:
		ok = f.redigo(c)
	case Rueidis:
		ok = f.rueidis(c)
	case Radix:
		ok = f.radix(c)
	}
	if !ok {
		return nil
	}
	return c
}

// byName makes a call one of a command whose name is an argument, after skip others.
func (f *finder) byName(c *Call, skip int) bool {
	c.How = ByName
	if len(c.Args) <= skip {
		c.Unknown = true // it is taken as a value, or given a slice
		return true
	}
	words := c.Args[skip:]
	c.Args = words[1:]
	c.Commands, c.Unknown = f.names(words)
	return true
}
