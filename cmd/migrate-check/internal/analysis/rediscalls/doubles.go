package rediscalls

import (
	"go/ast"
	"go/types"
)

// answers lists the uses of a variable that holds a command of go-redis.
type answers struct {
	set   bool // SetVal or SetErr, as in a test double of a client
	given bool // passed to a function, as to Process
}

// isDouble reports whether the code answers a command itself instead of sending it: as in
// cmd := redis.NewIntCmd(ctx, "publish"); cmd.SetVal(1); return cmd.
func (f *finder) isDouble(n ast.Node) bool {
	if f.answers == nil {
		f.answers, f.holds = map[*types.Var]*answers{}, map[ast.Node]*types.Var{}
		for _, file := range f.pass.Files {
			ast.Inspect(file, f.collectAnswers)
		}
	}
	a := f.answers[f.holds[n]]
	return a != nil && a.set && !a.given
}

func (f *finder) collectAnswers(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if v := f.variable(left); v != nil && len(n.Lhs) == len(n.Rhs) {
				f.holds[ast.Unparen(n.Rhs[i])] = v
			}
		}
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && (sel.Sel.Name == "SetVal" || sel.Sel.Name == "SetErr") {
			f.answersOf(sel.X).set = true
		}
		for _, arg := range n.Args {
			f.answersOf(arg).given = true
		}
	}
	return true
}

func (f *finder) answersOf(e ast.Expr) *answers {
	v := f.variable(e)
	if v == nil {
		return &answers{}
	}
	if f.answers[v] == nil {
		f.answers[v] = &answers{}
	}
	return f.answers[v]
}
