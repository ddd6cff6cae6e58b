package scriptcheck

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// list evaluates expressions. The last one may have several values.
func (w *walker) list(exprs []ast.Expr, s *scope) values {
	var out values
	for i, e := range exprs {
		if i < len(exprs)-1 {
			out.list = append(out.list, w.eval(e, s))
			continue
		}
		last := w.several(e, s)
		out.list = append(out.list, last.list...)
		out.open, out.rest = last.open, last.rest
		w.steps += len(out.list) // a long list costs as much as a long script
	}
	return out
}

func (w *walker) several(e ast.Expr, s *scope) values {
	switch e := e.(type) {
	case *ast.Comma3Expr:
		if !e.AdjustRet {
			return w.frame.varargs
		}
	case *ast.FuncCallExpr:
		if !e.AdjustRet {
			if !w.down(e.Line()) {
				w.up()
				return one(value{origin: unclear})
			}
			defer w.up()
			return w.call(e, s)
		}
	}
	return one(w.eval(e, s))
}

// eval returns the origin of an expression's value.
func (w *walker) eval(e ast.Expr, s *scope) value {
	defer w.up()
	if !w.down(e.Line()) {
		return value{origin: unclear}
	}
	switch e := e.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		return value{}
	case *ast.TrueExpr:
		return value{origin: computed}
	case *ast.NumberExpr:
		return textOf(number(e.Value))
	case *ast.StringExpr:
		return textOf(e.Value)
	case *ast.Comma3Expr:
		return w.frame.varargs.at(0)
	case *ast.IdentExpr:
		if v := s.find(e.Value); v != nil {
			return v.value
		}
		return w.global(e)
	case *ast.AttrGetExpr:
		object := w.eval(e.Object, s)
		return w.index(e.Line(), object, w.eval(e.Key, s))
	case *ast.FuncCallExpr:
		return w.call(e, s).at(0)
	case *ast.FunctionExpr:
		f := &function{syntax: e, scope: s}
		w.functions = append(w.functions, f)
		return value{origin: callable, function: f}
	case *ast.TableExpr:
		return w.constructor(e, s)
	case *ast.LogicalOpExpr:
		return w.logical(e, s)
	case *ast.StringConcatOpExpr:
		return concatenated(w.eval(e.Lhs, s), w.eval(e.Rhs, s))
	case *ast.RelationalOpExpr:
		w.eval(e.Lhs, s)
		w.eval(e.Rhs, s)
	case *ast.ArithmeticOpExpr:
		w.eval(e.Lhs, s)
		w.eval(e.Rhs, s)
	case *ast.UnaryMinusOpExpr:
		w.eval(e.Expr, s)
	case *ast.UnaryNotOpExpr:
		w.condition(e.Expr, s)
	case *ast.UnaryLenOpExpr:
		w.eval(e.Expr, s)
	}
	return value{origin: computed}
}

// number returns an index as Lua spells it: 1 for 1.0 and 0x1.
func number(s string) string {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return s
}

// concatenated returns the value of a..b: a script may build a command name from literals.
func concatenated(a, b value) value {
	x, ok1 := a.text()
	y, ok2 := b.text()
	if ok1 && ok2 && len(x)+len(y) <= 256 {
		return textOf(x + y)
	}
	return value{origin: computed}
}

func (w *walker) logical(e *ast.LogicalOpExpr, s *scope) value {
	var left, right value
	if e.Operator == "and" {
		w.condition(e.Lhs, s) // its value is the result if it is nil or false, and neither is a key
	} else {
		left = w.eval(e.Lhs, s)
	}
	w.perhaps(func() bool { right = w.eval(e.Rhs, s); return false })
	// Of a and b or c, b alone may not be the value.
	if op, ok := e.Lhs.(*ast.LogicalOpExpr); left.truthy() && (!ok || op.Operator != "and") {
		return left
	}
	return join(left, right)
}

// condition evaluates a condition. If the script tests for a function of the library here, it is assumed to
// use it only where it exists.
func (w *walker) condition(e ast.Expr, s *scope) {
	v := w.eval(e, s)
	if c, ok := e.(*ast.RelationalOpExpr); ok {
		if _, attr := c.Lhs.(*ast.AttrGetExpr); attr {
			v = w.eval(c.Lhs, s)
		}
	}
	if v.origin == library {
		w.tested[v.name] = true
	}
}

func (w *walker) constructor(e *ast.TableExpr, s *scope) value {
	t := newTable()
	for i, field := range e.Fields {
		switch {
		case field.Key != nil:
			index := w.eval(field.Key, s)
			t.put(index, w.eval(field.Value, s))
		case i == len(e.Fields)-1:
			last := w.several(field.Value, s)
			for _, v := range last.list {
				t.push(v)
			}
			if last.open {
				t.add(last.rest)
			}
		default:
			t.push(w.eval(field.Value, s))
		}
	}
	return value{origin: tabular, table: t}
}

func (w *walker) index(line int, object, index value) value {
	switch object.origin {
	case allKeys:
		w.oneOfKeys(line, index)
		return value{origin: declared}
	case argument, reply, computed, unclear:
		return value{origin: object.origin}
	case tabular:
		return object.table.get(index)
	case library:
		return w.member(line, object.name, index)
	}
	return value{origin: unclear}
}
