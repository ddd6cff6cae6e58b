package symbolic

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

// sprintf evaluates fmt.Sprintf with a constant format.
func (e *Evaluator) sprintf(x *ast.CallExpr) (Value, bool) {
	if x.Ellipsis.IsValid() || len(x.Args) == 0 {
		return nil, false
	}
	format, known := e.Eval(x.Args[0]).Known()
	if !known {
		return nil, false
	}
	var out Value
	args := x.Args[1:]
	for format != "" {
		text, verb, found := strings.Cut(format, "%")
		out = Concat(out, Constant(text))
		if !found {
			break
		}
		end := strings.IndexFunc(verb, func(r rune) bool { return !strings.ContainsRune("+-# .0123456789", r) })
		if end < 0 || strings.ContainsRune("*[", rune(verb[end])) {
			return nil, false // an argument gives the width, or is chosen by its number
		}
		verb, format = verb[:end+1], verb[end+1:]
		switch {
		case verb == "%":
			out = Concat(out, Constant("%"))
		case len(args) == 0:
			return nil, false
		default:
			out = Concat(out, e.format(args[0], verb))
			args = args[1:]
		}
	}
	if len(args) > 0 {
		return nil, false
	}
	return out, true
}

// format evaluates an argument under a verb: "s", "05d".
func (e *Evaluator) format(x ast.Expr, verb string) Value {
	x = e.unconverted(x)
	t := e.typeOf(x)
	basic, _ := t.Underlying().(*types.Basic)
	whole := basic != nil && basic.Info()&types.IsInteger != 0
	speaks := speaks(t)
	if c := e.pass.TypesInfo.Types[e.Origin(x)].Value; c != nil && !speaks {
		switch {
		case c.Kind() == constant.String:
			return Constant(fmt.Sprintf("%"+verb, constant.StringVal(c)))
		case c.Kind() == constant.Int && whole:
			if n, exact := constant.Int64Val(c); exact {
				return Constant(fmt.Sprintf("%"+verb, n))
			}
		}
	}
	plainVerb := verb == "s" || verb == "v"
	switch {
	case plainVerb && !speaks && IsText(t):
		return e.Eval(x)
	case plainVerb && speaks:
		return e.object(x, ".String()", types.ExprString(x), false)
	case whole && verb == "v":
		verb = "d"
	}
	letter := verb[len(verb)-1]
	// The digits of a number, without its String method.
	digits := strings.ContainsRune("dxXob", rune(letter)) && whole
	word := !speaks && plain(t) && letter == 'v'
	if IsText(t) {
		return e.Eval(x).through("#"+verb, types.ExprString(x), false)
	}
	return e.object(x, "#"+verb, types.ExprString(x), digits || word)
}

// unconverted drops conversions that keep the number.
func (e *Evaluator) unconverted(x ast.Expr) ast.Expr {
	x = ast.Unparen(x)
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !e.pass.TypesInfo.Types[call.Fun].IsType() {
		return x
	}
	to, ok1 := e.typeOf(call).(*types.Basic)
	from, ok2 := e.typeOf(call.Args[0]).(*types.Basic)
	if !ok1 || !ok2 || from.Info()&types.IsInteger == 0 {
		return x
	}
	unsigned := from.Info()&types.IsUnsigned != 0
	if to.Kind() == types.Int64 && !unsigned || to.Kind() == types.Uint64 && unsigned {
		return e.unconverted(call.Args[0])
	}
	return x
}

// speaks reports whether fmt prints a type by a method of it.
func speaks(t types.Type) bool {
	for _, name := range []string{"String", "Error", "Format", "GoString"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name); obj != nil {
			if _, ok := obj.(*types.Func); ok {
				return true
			}
		}
	}
	return false
}
