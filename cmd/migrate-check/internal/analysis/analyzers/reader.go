package analyzers

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// reader reads a package for one analyzer.
type reader struct {
	pass    *analysis.Pass
	profile *proxycompat.Profile
	calls   []*rediscalls.Call
	eval    *symbolic.Evaluator // nil unless the analyzer needs texts
	chains  rediscalls.Chains   // built on first use
	changes Changes             // of the transactions

	// Reported once each:
	tagged  map[token.Pos]bool         // keys, for their hash tags
	greeted map[*ast.CompositeLit]bool // options, for their handshake
	checked map[string]bool            // scripts
}

func newReader(pass *analysis.Pass, texts bool) *reader {
	r := &reader{
		pass: pass, profile: profile.Of(pass), calls: pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call),
		tagged: map[token.Pos]bool{}, greeted: map[*ast.CompositeLit]bool{}, checked: map[string]bool{}, changes: Changes{},
	}
	if texts {
		r.eval = symbolic.Of(pass)
	}
	return r
}

// flag is the value of a flag of the analyzer.
func (r *reader) flag(name string) string { return r.pass.Analyzer.Flags.Lookup(name).Value.String() }

// report reports a place in the code. See [rediscalls.Report] for the rule.
func (r *reader) report(n ast.Node, rule, text string, args ...any) {
	rediscalls.Report(r.pass, n, rule, fmt.Sprintf(text, args...))
}

// behind yields the chain of methods behind a call: see [rediscalls.Chains.Behind].
func (r *reader) behind(call *ast.CallExpr) iter.Seq2[string, *ast.CallExpr] {
	if r.chains == nil {
		r.chains = rediscalls.ChainsOf(r.pass)
	}
	return r.chains.Behind(call)
}

// around is the declaration around a place in a file of the package.
func (r *reader) around(pos token.Pos) ast.Decl {
	for _, file := range r.pass.Files {
		for _, decl := range file.Decls {
			if decl.Pos() <= pos && pos < decl.End() {
				return decl
			}
		}
	}
	return nil
}

// receiver is the receiver of a method call; nil for a function.
func receiver(call *ast.CallExpr) ast.Expr {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return ast.Unparen(sel.X)
	}
	return nil
}

// behindCtx returns the arguments of a call, without a context.
func behindCtx(c *rediscalls.Call) []ast.Expr { return c.Args[min(leading(c.Func), len(c.Args)):] }

// leading is 1 for a function with a context as its first parameter.
func leading(fn *types.Func) int {
	if params := fn.Signature().Params(); params.Len() > 0 {
		if named, ok := types.Unalias(params.At(0).Type()).(*types.Named); ok && named.Obj().Name() == "Context" {
			return 1
		}
	}
	return 0
}

// fieldOf returns the value of a field of a struct; nil if it is left out. The value is unknown if
// there is no literal, or the function assigns to the field.
func (r *reader) fieldOf(arg ast.Expr, name string) (value ast.Expr, known bool) {
	lit := r.eval.Literal(arg)
	if lit == nil {
		return nil, false
	}
	s := r.structOf(lit)
	if s == nil || !r.steady(s, name, arg.Pos()) {
		return nil, false
	}
	return r.field(lit, name), true
}

// field is the value of a field in a literal; nil if there is none.
func (r *reader) field(lit *ast.CompositeLit, name string) ast.Expr {
	s := r.structOf(lit)
	for i, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			if s != nil && i < s.NumFields() && s.Field(i).Name() == name {
				return element
			}
			continue
		}
		if id, ok := pair.Key.(*ast.Ident); ok && id.Name == name {
			return pair.Value
		}
	}
	return nil
}

// steady reports whether the function around a position does not assign a field.
func (r *reader) steady(s *types.Struct, name string, at token.Pos) bool {
	for field := range s.Fields() {
		if field.Name() == name {
			return r.eval.Steady(field, at)
		}
	}
	return true
}

// structOf is the struct type of a literal; nil for another type.
func (r *reader) structOf(lit *ast.CompositeLit) *types.Struct {
	t := r.pass.TypesInfo.TypeOf(lit)
	if p, ok := t.Underlying().(*types.Pointer); ok { // &T{} within a slice of pointers
		t = p.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

func isSlice(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}
