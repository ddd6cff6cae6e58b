package symbolic

import (
	"go/ast"
	"go/types"
	"strings"
)

// Builder is the fact of a function that only concatenates a text: its parts.
type Builder struct{ Parts []Piece }

// Piece is a part of the text that a [Builder] returns.
type Piece struct {
	Text  string // of a constant
	From  int    // the number of its parameter, from 1; 0: none; -1: the receiver
	Path  string // from there, as of [Part]
	Var   string // the path and name of a package variable
	Other bool   // unknown, and different in each call
	Label string
	Plain bool
}

// AFact makes it one.
func (*Builder) AFact() {}

// String is for tests.
func (b *Builder) String() string {
	var parts []string
	for _, p := range b.Parts {
		switch {
		case p.From != 0 || p.Var != "" || p.Other:
			parts = append(parts, p.Label+p.Path)
		default:
			parts = append(parts, p.Text)
		}
	}
	return "makes " + strings.Join(parts, "+")
}

// global is the root of a variable of another package, from its fact.
type global struct{ name string }

// builder returns the fact of a function; nil if there is none.
func (e *Evaluator) builder(fn *types.Func) *Builder {
	fn = fn.Origin()
	if fn.Pkg() != e.pass.Pkg {
		var b Builder
		if fn.Pkg() != nil && e.pass.ImportObjectFact(fn, &b) {
			return &b
		}
		return nil
	}
	if b, ok := e.builders[fn]; ok {
		return b
	}
	e.builders[fn] = nil // against recursion
	b := e.summarize(fn)
	e.builders[fn] = b
	return b
}

// summarize reads a function that only returns a text.
func (e *Evaluator) summarize(fn *types.Func) *Builder {
	decl := e.decls[fn]
	sig := fn.Signature()
	if decl == nil || decl.Body == nil || sig.Results().Len() != 1 || !IsText(sig.Results().At(0).Type()) {
		return nil
	}
	result := returned(decl.Body)
	if result == nil {
		return nil
	}
	from := map[any]int{}
	for i := range sig.Params().Len() {
		from[sig.Params().At(i)] = i + 1
	}
	if sig.Recv() != nil {
		from[sig.Recv()] = -1
	}
	b := &Builder{}
	for _, p := range e.Eval(result) {
		piece := Piece{Text: p.Text, Path: p.Path, Label: p.Label, Plain: p.Plain, From: from[p.Root]}
		if p.Symbol() && piece.From == 0 {
			switch v := p.Root.(type) {
			case global:
				piece.Var = v.name
			case *types.Var:
				if v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
					piece.Var = v.Pkg().Path() + "." + v.Name()
				}
			}
			piece.Other = piece.Var == ""
		}
		b.Parts = append(b.Parts, piece)
	}
	if len(b.Parts) == 1 && b.Parts[0].Other {
		return nil
	}
	return b
}

// returned is the result of a body of assignments and one return.
func returned(body *ast.BlockStmt) ast.Expr {
	for _, stmt := range body.List {
		switch stmt := stmt.(type) {
		case *ast.AssignStmt, *ast.DeclStmt:
		case *ast.ReturnStmt:
			if len(stmt.Results) == 1 { // it is the last statement that can be reached
				return stmt.Results[0]
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// build evaluates a call of a builder.
func (e *Evaluator) build(x *ast.CallExpr, b *Builder) (out Value) {
	for _, p := range b.Parts {
		switch {
		case p.From < 0:
			sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
			if !ok {
				out = Concat(out, e.unknown(x))
				continue
			}
			out = Concat(out, e.object(sel.X, p.Path, types.ExprString(sel.X)+p.Path, p.Plain))
		case p.From > 0:
			out = Concat(out, e.argument(x, p))
		case p.Var != "":
			out = Concat(out, Value{{Root: global{p.Var}, Path: p.Path, Label: p.Label, Plain: p.Plain}})
		case p.Other:
			v := e.unknown(x)
			v[0].Label, v[0].Plain = p.Label, p.Plain
			out = Concat(out, v)
		default:
			out = Concat(out, Constant(p.Text))
		}
	}
	return out
}

// argument evaluates a piece of a parameter.
func (e *Evaluator) argument(x *ast.CallExpr, p Piece) Value {
	at := p.From - 1
	if sep, joined := strings.CutPrefix(p.Path, rest); joined {
		sig := e.typeOf(x.Fun)
		if s, ok := sig.Underlying().(*types.Signature); ok && s.Variadic() && at == s.Params().Len()-1 && !x.Ellipsis.IsValid() {
			return e.joined(x.Args[min(at, len(x.Args)):], sep)
		}
		if at < len(x.Args) {
			if parts, ok := e.List(x.Args[at]); ok {
				return e.joined(parts, sep)
			}
		}
	}
	if at >= len(x.Args) {
		return e.unknown(x)
	}
	arg := x.Args[at]
	switch verb, formatted := strings.CutPrefix(p.Path, "#"); {
	case p.Path == "":
		return e.Eval(arg)
	case formatted && !strings.ContainsAny(verb, "|."):
		return e.format(arg, verb)
	case strings.HasPrefix(p.Path, "|"):
		return e.Eval(arg).through(p.Path, types.ExprString(arg), p.Plain)
	}
	return e.object(arg, p.Path, types.ExprString(arg)+p.Path, p.Plain)
}
