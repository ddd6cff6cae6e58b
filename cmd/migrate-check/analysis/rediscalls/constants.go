package rediscalls

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// names returns the commands that words may be the beginning of, and whether they may be
// others.
func (f *finder) names(words []ast.Expr) (commands []string, unknown bool) {
	firsts, unknown := f.texts(words[0])
	for _, first := range firsts {
		args := strings.Fields(first) // rdb.Do("SCRIPT LOAD") is wrong, but meant
		if len(args) == 0 {
			continue
		}
		if len(words) > 1 && len(args) == 1 {
			if seconds, _ := f.texts(words[1]); len(seconds) == 1 {
				args = append(args, seconds[0])
			}
		}
		name := strings.ToUpper(args[0])
		if command, known := proxycompat.CommandOf(args...); known {
			name = command.Name
		}
		commands = append(commands, name)
	}
	return commands, unknown
}

// texts returns the texts that an expression may be, and whether it may be others.
func (f *finder) texts(e ast.Expr) (texts []string, unknown bool) {
	e = ast.Unparen(e)
	if v := f.pass.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return []string{constant.StringVal(v)}, false
	}
	ident, ok := e.(*ast.Ident)
	if !ok {
		return nil, true
	}
	v, ok := f.pass.TypesInfo.Uses[ident].(*types.Var)
	if !ok {
		return nil, true
	}
	return f.assigned(v)
}

// assigned returns what constants are assigned to a variable of a function, and whether
// anything else may be.
func (f *finder) assigned(v *types.Var) (texts []string, unknown bool) {
	if v.IsField() || v.Parent() == nil || v.Parent() == f.pass.Pkg.Scope() || v.Parent() == types.Universe {
		return nil, true
	}
	scope := f.around(v)
	if scope == nil {
		return nil, true
	}
	assign := func(value ast.Expr) {
		if value == nil {
			unknown = true
			return
		}
		if c := f.pass.TypesInfo.Types[value].Value; c != nil && c.Kind() == constant.String {
			texts = append(texts, constant.StringVal(c))
			return
		}
		unknown = true
	}
	is := func(e ast.Expr) bool {
		ident, ok := ast.Unparen(e).(*ast.Ident)
		return ok && (f.pass.TypesInfo.Defs[ident] == v || f.pass.TypesInfo.Uses[ident] == v)
	}
	declared := false
	ast.Inspect(scope, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if !is(left) {
					continue
				}
				declared = true
				if len(n.Rhs) != len(n.Lhs) || n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
					assign(nil)
				} else {
					assign(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if !is(name) {
					continue
				}
				declared = true
				if i < len(n.Values) {
					assign(n.Values[i])
				}
			}
		case *ast.RangeStmt:
			if n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value) {
				unknown = true
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND && is(n.X) {
				unknown = true // whoever has its address may assign to it
			}
		}
		return true
	})
	return texts, unknown || !declared // a parameter is declared nowhere in the body
}

// around is the file's declaration that a variable is declared in.
func (f *finder) around(v *types.Var) ast.Node {
	for _, file := range f.pass.Files {
		for _, decl := range file.Decls {
			if decl.Pos() <= v.Pos() && v.Pos() < decl.End() {
				return decl
			}
		}
	}
	return nil
}
