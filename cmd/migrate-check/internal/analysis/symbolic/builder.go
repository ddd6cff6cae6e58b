package symbolic

import (
	"go/ast"
	"go/types"
	"strings"
)

// Builder is the fact of a function that it only puts a text together, and of what.
type Builder struct{ Parts []Piece }

// Piece is a part of what a [Builder] returns.
type Piece struct {
	Text  string // of a constant
	From  int    // the parameter that it comes from, from 1; 0: none; -1: the receiver
	Path  string // what is made of that
	Var   string // a variable of a package, if it is one
	Other bool   // it is not known, and each call makes another
	Label string
	Plain bool
}

// AFact makes it one.
func (*Builder) AFact() {}

// String says what it is, for tests.
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

// global is the root of a variable of another package, as that has told of it.
type global struct{ name string }

// builder returns what is known of a function; nil if nothing.
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
	e.builders[fn] = nil // while it is looked at: it may call itself
	b := e.summarize(fn)
	e.builders[fn] = b
	return b
}

// summarize reads a function that does nothing but to return a text.
func (e *Evaluator) summarize(fn *types.Func) *Builder {
	decl := e.decls[fn]
	sig := fn.Signature()
	if decl == nil || decl.Body == nil || sig.Results().Len() != 1 || !isText(sig.Results().At(0).Type()) {
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
		piece := Piece{Text: p.Text, Path: p.Path, Label: p.Label, Plain: p.Plain}
		switch v, isVar := p.Root.(*types.Var); {
		case !p.Symbol():
		case from[p.Root] != 0:
			piece.From = from[p.Root]
		case isVar && v.Pkg() != nil && v.Parent() == v.Pkg().Scope():
			piece.Var = v.Pkg().Path() + "." + v.Name()
		default:
			if g, ok := p.Root.(global); ok {
				piece.Var = g.name
			} else {
				piece.Other = true
			}
		}
		b.Parts = append(b.Parts, piece)
	}
	if len(b.Parts) == 1 && b.Parts[0].Other {
		return nil
	}
	return b
}

// returned is what a body returns, if it does so once, at its end, and only sets variables
// before.
func returned(body *ast.BlockStmt) ast.Expr {
	for i, stmt := range body.List {
		switch stmt := stmt.(type) {
		case *ast.ReturnStmt:
			if i == len(body.List)-1 && len(stmt.Results) == 1 {
				return stmt.Results[0]
			}
			return nil
		case *ast.AssignStmt, *ast.DeclStmt:
		default:
			return nil
		}
	}
	return nil
}

// build is what a call of a builder makes.
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

// argument is what a piece makes of an argument.
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
