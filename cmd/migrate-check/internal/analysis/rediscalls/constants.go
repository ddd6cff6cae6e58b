package rediscalls

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// spelling is the set of possible values of a text.
type spelling struct {
	texts   []string     // constants
	params  []*types.Var // values of parameters
	unknown bool         // other values are possible
}

func (s *spelling) add(other spelling) {
	s.texts = append(s.texts, other.texts...)
	s.params = append(s.params, other.params...)
	s.unknown = s.unknown || other.unknown
}

var unknown = spelling{unknown: true}

// names returns the possible commands of a first word and the words behind it.
func (f *finder) names(first spelling, words []ast.Expr) (commands []string) {
	for _, text := range first.texts {
		args := strings.Fields(text) // rdb.Do("SCRIPT LOAD") is a mistake with a clear meaning
		if len(args) == 0 {
			continue
		}
		if len(words) > 0 && len(args) == 1 {
			if second := f.spell(words[0]); len(second.texts) == 1 {
				args = append(args, second.texts[0])
			}
		}
		name := strings.ToUpper(args[0])
		if command, known := proxycompat.CommandOf(args...); known {
			name = command.Name
		}
		commands = append(commands, name)
	}
	return commands
}

// firstOf returns the possible first elements of a slice of words, and the known words behind them: args in
// rdb.Do(ctx, args...).
func (f *finder) firstOf(e ast.Expr) (first spelling, rest []ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		if len(e.Elts) > 0 {
			if _, keyed := e.Elts[0].(*ast.KeyValueExpr); !keyed {
				return f.spell(e.Elts[0]), e.Elts[1:]
			}
		}
	case *ast.CallExpr:
		if !f.isAppend(e) {
			break
		}
		if !f.isEmpty(e.Args[0]) {
			return f.firstOf(e.Args[0])
		}
		if e.Ellipsis.IsValid() {
			return f.firstOf(e.Args[1])
		}
		if len(e.Args) > 1 {
			return f.spell(e.Args[1]), e.Args[2:]
		}
	case *ast.Ident, *ast.SelectorExpr:
		if v := f.variable(e); v != nil {
			return f.firstOfVar(v)
		}
	}
	return unknown, nil
}

// firstOfVar is firstOf a variable: of its first value, and of assignments to its first element. Appended elements
// come behind, unless it is empty.
func (f *finder) firstOfVar(v *types.Var) (s spelling, rest []ast.Expr) {
	uses := f.uses(v)
	if uses == nil || uses.open || f.visiting[v] {
		return unknown, nil
	}
	f.visiting[v] = true
	defer delete(f.visiting, v)
	given := uses.param && !f.displaced(v, uses)
	if given {
		s.params = append(s.params, v)
	}
	for _, value := range uses.firsts {
		s.add(f.spell(value))
	}
	for _, list := range uses.ranges { // for _, words := range [][]any{{"MULTI"}, {"EXEC"}}
		elements, all := f.elements(list)
		s.unknown = s.unknown || !all
		for _, element := range elements {
			first, _ := f.firstOf(element)
			s.add(first)
		}
	}
	s.unknown = s.unknown || f.shared(v)
	filled := given || len(uses.firsts) > 0 || len(uses.ranges) > 0
	for _, value := range uses.values {
		call, ok := ast.Unparen(value).(*ast.CallExpr)
		switch {
		case f.isEmpty(value):
			continue
		case ok && f.isAppend(call) && f.variable(call.Args[0]) == v:
			if filled || len(call.Args) < 2 {
				continue
			}
			if call.Ellipsis.IsValid() {
				var first spelling
				first, rest = f.firstOf(call.Args[1])
				s.add(first)
			} else {
				s.add(f.spell(call.Args[1]))
				rest = call.Args[2:]
			}
		default:
			var first spelling
			first, rest = f.firstOf(value)
			s.add(first)
		}
		filled = true
	}
	if !filled {
		return unknown, nil
	}
	return s, rest
}

// displaced reports whether an assignment puts another element before those of a parameter, as in
// args = append([]any{name}, args...).
func (f *finder) displaced(v *types.Var, uses *uses) bool {
	if len(uses.firsts) > 0 {
		return true
	}
	for _, value := range uses.values {
		call, ok := ast.Unparen(value).(*ast.CallExpr)
		if ok && f.isAppend(call) && f.variable(call.Args[0]) == v {
			continue
		}
		if f.mentions(value, v) {
			return true
		}
	}
	return false
}

func (f *finder) mentions(e ast.Expr, v *types.Var) bool {
	for ident := range Each[*ast.Ident](e) {
		if f.pass.TypesInfo.ObjectOf(ident) == v {
			return true
		}
	}
	return false
}

// isEmpty reports whether a slice has no elements, or only zero ones.
func (f *finder) isEmpty(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name == "nil"
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr: // also a conversion of nil
		if f.pass.TypesInfo.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return f.isEmpty(e.Args[0])
		}
		return f.isBuiltin(e, "make")
	}
	return false
}

func (f *finder) isAppend(call *ast.CallExpr) bool {
	return f.isBuiltin(call, "append") && len(call.Args) > 0
}

func (f *finder) isBuiltin(call *ast.CallExpr, name string) bool {
	ident, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && ident.Name == name && f.pass.TypesInfo.Types[ident].IsBuiltin()
}
