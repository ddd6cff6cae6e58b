package rediscalls

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Analyzer finds the calls. Its result is a []*Call, in the order of the source.
var Analyzer = &analysis.Analyzer{
	Name:       "rediscalls",
	Doc:        "find the calls that send commands to Redis",
	ResultType: reflect.TypeFor[[]*Call](),
	FactTypes:  []analysis.Fact{(*Sends)(nil), (*Near)(nil)},
	Run:        run,
}

// Call is a place in the code that sends commands, or prepares them.
type Call struct {
	Node     ast.Node    // an *ast.CallExpr; for a method that is taken as a value, the *ast.SelectorExpr
	Func     *types.Func // the called function
	Library  Library
	How      How
	Commands []string   // the possible ones, in upper case: "GET", "SCRIPT LOAD"
	Unknown  bool       // others are possible, too: the name is decided at run time
	Args     []ast.Expr // the known arguments of the command
	on       string     // the type of the receiver expression, not that of the declared method
	Spread   bool       // the last of Args is a slice of further arguments, or some are unknown
}

// How is the way in which a call names its command.
type How uint8

const (
	// Method is a method of a typed client: rdb.Get.
	Method How = iota
	// ByName is a command named by a text: conn.Do("GET").
	ByName
	// Transaction is a pipeline within MULTI and EXEC: rdb.TxPipelined.
	Transaction
	// Builder is a command that is built first: client.B().Get().
	Builder
)

func run(pass *analysis.Pass) (any, error) {
	if !isNear(pass) {
		return []*Call(nil), nil
	}
	pass.ExportPackageFact(&Near{})
	f := &finder{
		pass: pass, helpers: map[types.Object]*Sends{}, visiting: map[*types.Var]bool{}, returning: map[*types.Func]bool{},
		indices: map[ast.Expr]constant.Value{},
	}
	for again := true; again; { // a call may precede the declaration of its helper
		again = false
		f.calls, f.called = nil, map[*ast.SelectorExpr]bool{}
		for n := range Nodes(pass) {
			switch n := n.(type) {
			case *ast.CallExpr:
				again = f.call(n) || again
			case *ast.SelectorExpr:
				f.value(n)
			}
		}
	}
	for helper, sends := range f.helpers {
		if v, ok := helper.(*types.Var); !ok || v.IsField() {
			pass.ExportObjectFact(helper, sends)
		}
	}
	return f.calls, nil
}

// finder collects the calls of a package.
type finder struct {
	pass      *analysis.Pass
	called    map[*ast.SelectorExpr]bool // not used as values
	calls     []*Call
	assigned  map[*types.Var]*uses
	params    map[*types.Var]param
	decls     map[*types.Func]*ast.FuncDecl
	visiting  map[*types.Var]bool  // in progress, against recursion
	returning map[*types.Func]bool // in progress, against recursion
	helpers   map[types.Object]*Sends
	answered  map[*types.Var]bool         // commands with SetVal or SetErr
	handedOn  map[*types.Var]bool         // passed to a function, as to Process
	holds     map[ast.Node]*types.Var     // the variable that gets a value
	indices   map[ast.Expr]constant.Value // the known indices of elements of literals
}

// call resolves a call, and reports whether the function around it turns out to be a helper.
func (f *finder) call(n *ast.CallExpr) (news bool) {
	fun := ast.Unparen(n.Fun)
	sel, _ := fun.(*ast.SelectorExpr)
	if sel != nil {
		f.called[sel] = true
	}
	args := n.Args
	if sel != nil && len(args) > 0 {
		if s := f.pass.TypesInfo.Selections[sel]; s != nil && s.Kind() == types.MethodExpr {
			args = args[1:] // the first is the receiver, as in (*redis.Client).Do(rdb, ctx, "GET")
		}
	}
	for _, v := range f.holders(fun) {
		if calls, helper := f.helperCalls(n, v, args); len(calls) > 0 || helper {
			f.calls = append(f.calls, calls...)
			return helper
		}
	}
	direct := f.named(fun) != nil // a method in a variable was found as a value
	for _, fn := range f.callees(fun) {
		if calls, helper := f.helperCalls(n, fn.Origin(), args); len(calls) > 0 || helper {
			f.calls = append(f.calls, calls...)
			return helper
		}
		c, helper := f.resolve(n, fn, args)
		if c != nil && (direct || c.How == ByName) {
			f.calls = append(f.calls, c)
		}
		news = news || helper
	}
	return news
}

// value resolves a method that is used as a value, because another place may call it.
func (f *finder) value(n *ast.SelectorExpr) {
	if f.called[n] {
		return
	}
	if fn := f.named(n); fn != nil {
		if c, _ := f.resolve(n, fn, nil); c != nil {
			f.calls = append(f.calls, c)
		}
	}
}

// named is the function that an expression names; nil for any other value.
func (f *finder) named(fun ast.Expr) *types.Func {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.SelectorExpr:
		fn, _ := f.pass.TypesInfo.Uses[fun.Sel].(*types.Func)
		return fn
	case *ast.Ident:
		fn, _ := f.pass.TypesInfo.Uses[fun].(*types.Func)
		return fn
	case *ast.IndexExpr: // of a generic function
		return f.named(fun.X)
	case *ast.IndexListExpr:
		return f.named(fun.X)
	}
	return nil
}

// holders lists the variables that may hold a called function: the named one, and those assigned to it.
func (f *finder) holders(fun ast.Expr) (vars []*types.Var) {
	v := f.variable(fun)
	if v == nil {
		return nil
	}
	vars = append(vars, v)
	for i := 0; i < len(vars); i++ {
		uses := f.uses(vars[i])
		if uses == nil {
			continue
		}
		for _, value := range uses.values {
			if inner := f.variable(value); inner != nil && !slices.Contains(vars, inner) {
				vars = append(vars, inner)
			}
		}
	}
	return vars
}

// callees lists the functions that a call may call, also through a variable.
func (f *finder) callees(fun ast.Expr) (fns []*types.Func) {
	if fn := f.named(fun); fn != nil {
		return []*types.Func{fn}
	}
	for _, v := range f.holders(fun) {
		uses := f.uses(v)
		if uses == nil {
			continue
		}
		for _, value := range uses.values {
			if fn := f.named(value); fn != nil && !slices.Contains(fns, fn) {
				fns = append(fns, fn)
			}
		}
	}
	return fns
}

// resolve resolves a function of a client; nil if it sends no command.
func (f *finder) resolve(n ast.Node, fn *types.Func, args []ast.Expr) (c *Call, news bool) {
	fn = fn.Origin()
	lib, ok := LibraryOf(fn.Pkg())
	if !ok {
		if lib, ok = shapeOf(fn); !ok {
			return nil, false
		}
	}
	c = &Call{Node: n, Func: fn, Library: lib, Args: args, on: f.typeOf(n)}
	if call, ok := n.(*ast.CallExpr); ok {
		c.Spread = call.Ellipsis.IsValid()
	}
	var name int // the index of the command's name among the arguments, or -1
	name, ok = resolvers[lib.Name](c)
	if ok && lib.Name == GoRedis && fn.Signature().Recv() == nil {
		ok = !f.isDouble(n) && !f.carriesError(args, name)
	}
	if !ok {
		return nil, false
	}
	if name >= 0 {
		news = f.byName(c, name)
		if len(c.Commands) == 0 && !c.Unknown {
			return nil, news // its callers say
		}
	}
	return c, news
}

// typeOf is the name of the type of the receiver expression: most methods of Pipeliner are declared by an
// interface in it.
func (f *finder) typeOf(n ast.Node) string {
	if call, ok := n.(*ast.CallExpr); ok {
		n = ast.Unparen(call.Fun)
	}
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	selection := f.pass.TypesInfo.Selections[sel]
	if selection == nil {
		return ""
	}
	_, name, _ := TypeOf(selection.Recv())
	return name
}

// byName resolves a command named by the argument behind skip others. It
// reports whether the function around it turns out to be a helper.
func (f *finder) byName(c *Call, skip int) (news bool) {
	c.How = ByName
	if len(c.Args) <= skip {
		_, called := c.Node.(*ast.CallExpr)
		c.Unknown = !called // as a value it sends anything; a call without words sends nothing
		return false
	}
	words := c.Args[skip:]
	first, rest := spelling{}, words[1:]
	if c.Spread && len(words) == 1 {
		first, rest = f.firstOf(words[0])
		_, literal := ast.Unparen(words[0]).(*ast.CompositeLit)
		c.Spread = !literal // a literal shows all words
	} else {
		first = f.spell(words[0])
	}
	c.Args, c.Unknown = rest, first.unknown
	c.Commands = f.names(first, rest)
	news = f.wraps(c, first.params)
	if c.Library.byShape() {
		c.onlyKnown()
	}
	return news
}
