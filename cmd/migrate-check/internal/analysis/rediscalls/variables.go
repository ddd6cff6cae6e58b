package rediscalls

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// uses lists the assignments of a package to a variable, or to a field of a struct.
type uses struct {
	values   []ast.Expr // assigned values
	firsts   []ast.Expr // values of its first element
	elements []ast.Expr // values of other elements
	ranges   []ast.Expr // lists that it ranges over, by their elements
	keys     []ast.Expr // lists that it ranges over, by their keys
	param    bool       // a parameter: the caller gives the first value
	open     bool       // assignments are not all followed
}

// uses returns the uses of a variable; nil for one of another package.
func (f *finder) uses(v *types.Var) *uses {
	v = v.Origin()
	if v.Pkg() != f.pass.Pkg {
		return nil
	}
	f.collectOnce()
	return f.assigned[v]
}

func (f *finder) collectOnce() {
	if f.assigned == nil {
		f.assigned, f.params, f.holds = map[*types.Var]*uses{}, map[*types.Var]param{}, map[ast.Node]*types.Var{}
		f.answered, f.handedOn = map[*types.Var]bool{}, map[*types.Var]bool{}
		for _, file := range f.pass.Files {
			ast.Inspect(file, f.collect)
		}
	}
}

// isDouble reports whether the code answers a command itself instead of sending it, as a test double of a client does:
// cmd := redis.NewIntCmd(ctx, "publish"); cmd.SetVal(1); return cmd.
func (f *finder) isDouble(n ast.Node) bool {
	f.collectOnce()
	v := f.holds[n]
	return f.answered[v] && !f.handedOn[v]
}

// carriesError reports whether a command is made of an error instead of words, as in redis.NewIntCmd(ctx, err).
func (f *finder) carriesError(args []ast.Expr, first int) bool {
	if first < 0 || first >= len(args) {
		return false
	}
	t := f.pass.TypesInfo.TypeOf(args[first])
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// shared reports whether other packages may assign to a variable.
func (f *finder) shared(v *types.Var) bool {
	return v.Exported() && (v.IsField() || v.Parent() == f.pass.Pkg.Scope())
}

// variable is the variable or field that an expression names; else nil.
func (f *finder) variable(e ast.Expr) *types.Var {
	var ident *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		ident = e
	case *ast.SelectorExpr:
		ident = e.Sel
	default:
		return nil
	}
	v, ok := f.pass.TypesInfo.ObjectOf(ident).(*types.Var)
	if !ok {
		return nil
	}
	return v.Origin()
}

// of returns the uses of the variable that an expression names. For any other expression, it returns a dummy.
func (f *finder) of(e ast.Expr) *uses {
	if v := f.variable(e); v != nil {
		return f.ofVar(v)
	}
	return &uses{}
}

func (f *finder) ofVar(v *types.Var) *uses {
	if f.assigned[v] == nil {
		f.assigned[v] = &uses{}
	}
	return f.assigned[v]
}

// collect notes the assignments of a node.
func (f *finder) collect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.given(f.pass.TypesInfo.Defs[n.Name], n.Type)
		if n.Type.Results != nil {
			for _, field := range n.Type.Results.List {
				for _, name := range field.Names {
					f.of(name).open = true
				}
			}
		}
	case *ast.FuncLit:
		f.given(nil, n.Type) // an assignment around it has noted its owner already
	case *ast.CompositeLit:
		f.fields(n)
	case *ast.CallExpr:
		f.passed(n)
		if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && (sel.Sel.Name == "SetVal" || sel.Sel.Name == "SetErr") {
			f.note(f.answered, sel.X)
		}
		for _, arg := range n.Args {
			f.note(f.handedOn, arg)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			f.assign(n, i, left)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			switch {
			case len(n.Values) == len(n.Names):
				f.put(name, n.Values[i])
			case len(n.Values) > 0:
				f.of(name).open = true
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			u := f.of(n.Value)
			u.ranges = append(u.ranges, n.X)
		}
		if n.Key != nil {
			u := f.of(n.Key)
			u.keys = append(u.keys, n.X)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			f.of(n.X).open = true // its address permits assignments
		}
	}
	return true
}

// assign notes one of the assignments of a statement.
func (f *finder) assign(n *ast.AssignStmt, i int, left ast.Expr) {
	if index, ok := ast.Unparen(left).(*ast.IndexExpr); ok {
		u := f.of(index.X)
		at := f.pass.TypesInfo.Types[index.Index].Value
		// An unknown index counts as one of the others, as in a loop.
		if at != nil && at.Kind() == constant.Int && constant.Sign(at) == 0 && len(n.Rhs) == len(n.Lhs) {
			u.firsts = append(u.firsts, n.Rhs[i])
		} else if len(n.Rhs) == len(n.Lhs) {
			u.elements = append(u.elements, n.Rhs[i])
		}
		return
	}
	if len(n.Rhs) != len(n.Lhs) || n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
		f.of(left).open = true
		return
	}
	f.put(left, n.Rhs[i])
}

// put notes the assignment of a value to an expression.
func (f *finder) put(to, value ast.Expr) {
	if v := f.variable(to); v != nil {
		f.holds[ast.Unparen(value)] = v
		f.putVar(v, value)
	}
}

// putVar notes the assignment of a value to a variable.
func (f *finder) putVar(v *types.Var, value ast.Expr) {
	u := f.ofVar(v)
	u.values = append(u.values, value)
	if literal, ok := ast.Unparen(value).(*ast.FuncLit); ok {
		f.given(v, literal.Type)
	}
}

// note adds the variable of an expression to a set.
func (f *finder) note(set map[*types.Var]bool, e ast.Expr) {
	if v := f.variable(e); v != nil {
		set[v] = true
	}
}

// passed notes functions as arguments of a function of this package, as in store(conn.Do, key): a call of the
// parameter calls them.
func (f *finder) passed(n *ast.CallExpr) {
	fn := f.named(n.Fun)
	if fn == nil || fn.Pkg() != f.pass.Pkg {
		return
	}
	params := fn.Origin().Signature().Params()
	for i := range min(params.Len(), len(n.Args)) {
		if _, ok := params.At(i).Type().Underlying().(*types.Signature); ok {
			f.putVar(params.At(i), n.Args[i])
		}
	}
}

// given notes the parameters of a function. Its owner is the object by which it is called; nil if that is unknown.
func (f *finder) given(owner types.Object, fn *ast.FuncType) {
	index := 0
	for _, field := range fn.Params.List {
		for _, name := range field.Names {
			f.of(name).param = true
			v, ok := f.pass.TypesInfo.Defs[name].(*types.Var)
			if ok && owner != nil {
				f.params[v] = param{owner, index}
			}
			index++
		}
		if len(field.Names) == 0 {
			index++
		}
	}
}

// param is a parameter of a declared function, or of one in a variable or a field.
type param struct {
	owner types.Object
	index int
}

// fields notes the values of the fields in a struct literal.
func (f *finder) fields(n *ast.CompositeLit) {
	t := f.pass.TypesInfo.TypeOf(n)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // the & may be left out within a list of pointers
		t = p.Elem()
	}
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			f.put(pair.Key, pair.Value)
		} else if i < fields.NumFields() {
			f.putVar(fields.Field(i).Origin(), element)
		}
	}
}
