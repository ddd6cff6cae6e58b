package symbolic

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Evaluator evaluates the expressions of a package.
type Evaluator struct {
	pass     *analysis.Pass
	history  *history
	values   map[*types.Var]Value
	builders map[*types.Func]*Builder
	decls    map[*types.Func]*ast.FuncDecl
}

// unknown is the root of a symbol that equals no other symbol.
type unknown struct{ at token.Pos }

func (e *Evaluator) unknown(x ast.Expr) Value {
	return Value{{Root: &unknown{x.Pos()}, Label: types.ExprString(x), Plain: plain(e.typeOf(x))}}
}

func (e *Evaluator) typeOf(x ast.Expr) types.Type {
	if t := e.pass.TypesInfo.TypeOf(x); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// Eval evaluates a text. An expression of another type is a symbol.
func (e *Evaluator) Eval(x ast.Expr) Value {
	x = ast.Unparen(x)
	if c := e.pass.TypesInfo.Types[x].Value; c != nil && c.Kind() == constant.String {
		return Constant(constant.StringVal(c))
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.ADD && IsText(e.typeOf(x)) {
			return Concat(e.Eval(x.X), e.Eval(x.Y))
		}
	case *ast.Ident:
		if v, ok := e.pass.TypesInfo.Uses[x].(*types.Var); ok {
			return e.variable(x, v)
		}
	case *ast.CallExpr:
		if v, ok := e.call(x); ok {
			return v
		}
	}
	return e.object(x, "", types.ExprString(x), plain(e.typeOf(x)))
}

// variable returns the value of a variable that is assigned once.
func (e *Evaluator) variable(x ast.Expr, v *types.Var) Value {
	if known, ok := e.values[v]; ok {
		return known
	}
	value, once := e.history.once(v)
	if !once {
		return e.unknown(x)
	}
	symbol := Value{{Root: v, Label: v.Name(), Plain: plain(v.Type())}}
	e.values[v] = symbol // against recursion
	if value == nil || !IsText(v.Type()) || v.Exported() && v.Parent() == e.pass.Pkg.Scope() {
		return symbol // another package may assign to it
	}
	given := e.Eval(value)
	if len(given) == 1 {
		if _, nothing := given[0].Root.(*unknown); nothing {
			given = symbol
		}
	}
	e.values[v] = given
	return given
}

// object is a symbol for a path from a variable or a field.
func (e *Evaluator) object(x ast.Expr, path, label string, plain bool) Value {
	root, own, ok := e.place(x)
	if !ok {
		v := e.unknown(x)
		v[0].Label, v[0].Plain = label, plain
		return v
	}
	return Value{{Root: root, Path: own + path, Label: label, Plain: plain}}
}

// place returns the variable of an expression, and the path of fields from there.
func (e *Evaluator) place(x ast.Expr) (root *types.Var, path string, ok bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		v, isVar := e.pass.TypesInfo.Uses[x].(*types.Var)
		if !isVar {
			return nil, "", false
		}
		_, once := e.history.once(v)
		return v, "", once
	case *ast.SelectorExpr:
		v, isVar := e.pass.TypesInfo.Uses[x.Sel].(*types.Var)
		if !isVar {
			return nil, "", false
		}
		if !v.IsField() {
			return v, "", true // of another package
		}
		root, path, ok = e.place(x.X)
		return root, path + "." + v.Name(), ok && e.history.steady(v, x.Pos())
	case *ast.StarExpr:
		return e.place(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return e.place(x.X)
		}
	}
	return nil, "", false
}

// call evaluates a call.
func (e *Evaluator) call(x *ast.CallExpr) (Value, bool) {
	if t, conversion := e.pass.TypesInfo.Types[x.Fun]; conversion && t.IsType() {
		if len(x.Args) == 1 && IsText(t.Type) && IsText(e.typeOf(x.Args[0])) {
			return e.Eval(x.Args[0]), true
		}
		return nil, false
	}
	fn := Callee(e.pass.TypesInfo, x)
	if fn == nil || len(x.Args) < fn.Signature().Params().Len() && !fn.Signature().Variadic() {
		return nil, false // as strings.Join(f()), of what f returns
	}
	label := types.ExprString(x)
	switch fn.FullName() {
	case "fmt.Sprintf":
		return e.sprintf(x)
	case "strings.Join":
		return e.join(x)
	case "strconv.Itoa":
		return e.format(x.Args[0], "d"), true
	case "strconv.FormatInt", "strconv.FormatUint":
		if base, ok := e.Int(x.Args[1]); ok && base == 10 {
			return e.format(x.Args[0], "d"), true
		}
	case "strings.ToLower", "strings.ToUpper", "strings.TrimSpace", "net/url.QueryEscape", "net/url.PathEscape":
		return e.Eval(x.Args[0]).through("|"+fn.FullName(), label, false), true
	}
	if b := e.builder(fn); b != nil {
		return e.build(x, b), true
	}
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && fn.Name() == "String" && len(x.Args) == 0 {
		return e.object(sel.X, ".String()", label, false), true
	}
	return nil, false
}

// Callee is the function that a call names; nil for a function value.
func Callee(info *types.Info, x *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(info, x).(*types.Func)
	return fn
}

// join is strings.Join.
func (e *Evaluator) join(x *ast.CallExpr) (Value, bool) {
	sep, known := e.Eval(x.Args[1]).Known()
	if !known {
		return nil, false
	}
	if parts, ok := e.List(x.Args[0]); ok {
		return e.joined(parts, sep), true
	}
	return e.object(x.Args[0], rest+sep, types.ExprString(x), false), true
}

// rest is the path of the joined elements of a slice.
const rest = "..."

func (e *Evaluator) joined(parts []ast.Expr, sep string) (out Value) {
	for i, part := range parts {
		if i > 0 {
			out = Concat(out, Constant(sep))
		}
		out = Concat(out, e.Eval(part))
	}
	return out
}

// List returns the elements of a slice literal, also through a variable that is assigned once.
func (e *Evaluator) List(x ast.Expr) (elements []ast.Expr, known bool) {
	x = e.Origin(x)
	if id, ok := x.(*ast.Ident); ok && e.pass.TypesInfo.Types[id].IsNil() {
		return nil, true
	}
	lit, ok := x.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	switch e.typeOf(lit).Underlying().(type) {
	case *types.Slice, *types.Array:
	default:
		return nil, false
	}
	for _, element := range lit.Elts {
		if _, indexed := element.(*ast.KeyValueExpr); indexed {
			return nil, false
		}
	}
	return lit.Elts, true
}

// Literal returns the literal of a struct, or of a pointer to one, also through a variable that is assigned once; nil
// for any other expression.
func (e *Evaluator) Literal(x ast.Expr) *ast.CompositeLit {
	lit, _ := e.Origin(x).(*ast.CompositeLit)
	return lit
}

// Steady reports whether the function around a position does not assign a field.
func (e *Evaluator) Steady(field *types.Var, at token.Pos) bool { return e.history.steady(field, at) }

// Origin returns the only expression that is assigned to a variable; any other expression itself.
func (e *Evaluator) Origin(x ast.Expr) ast.Expr {
	for range 10 { // against recursion
		x = ast.Unparen(x)
		if ref, ok := x.(*ast.UnaryExpr); ok && ref.Op == token.AND {
			x = ref.X
			continue
		}
		id, ok := x.(*ast.Ident)
		if !ok {
			return x
		}
		v, ok := e.pass.TypesInfo.Uses[id].(*types.Var)
		if !ok {
			return x
		}
		value, once := e.history.once(v)
		if !once || value == nil {
			return x
		}
		x = value
	}
	return x
}

// Int returns a constant number.
func (e *Evaluator) Int(x ast.Expr) (n int64, known bool) {
	c := e.pass.TypesInfo.Types[e.Origin(x)].Value
	if c == nil {
		return 0, false
	}
	if c = constant.ToInt(c); c.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c)
}

// IsText reports whether a type is a kind of string.
func IsText(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// plain reports whether texts of a type, as digits, never have a brace.
func plain(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsBoolean|types.IsFloat) != 0 && !strings.HasPrefix(b.Name(), "untyped")
}
