package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
)

// plugin is the only package with effects at import.
const plugin = "cmd/migrate-check/golangci"

// checkState reports effects and state of a package import: init functions, and package variables that hold
// channels, timers, goroutines or modified maps. Such state has no owner, and cannot be stopped or put into
// a bubble of fake time. Main programs are exempt.
func checkState(t *tree) []string {
	var findings []string
	packages := t.packages()
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if packages[pkg][0].syntax.Name.Name == "main" || pkg == plugin {
			continue
		}
		maps := map[string]bool{}
		for _, f := range packages[pkg] {
			s := stateOf{tree: t, file: f, maps: maps}
			for _, decl := range f.syntax.Decls {
				s.declaration(decl)
			}
			findings = append(findings, s.findings...)
		}
		for _, f := range packages[pkg] {
			s := stateOf{tree: t, file: f, maps: maps}
			ast.Inspect(f.syntax, s.write)
			findings = append(findings, s.findings...)
		}
	}
	return findings
}

// stateOf collects the findings of one file.
type stateOf struct {
	*tree
	file     *file
	maps     map[string]bool // the map variables of the package
	findings []string
}

func (s *stateOf) found(at ast.Node, text string) {
	s.findings = append(s.findings, s.finding(s.file, at.Pos(), "%s", text))
}

func (s *stateOf) declaration(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.Name == "init" && decl.Recv == nil {
			s.found(decl, "no init functions: call it where it is needed")
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
				s.variable(spec)
			}
		}
	}
}

func (s *stateOf) variable(spec *ast.ValueSpec) {
	s.kind(spec.Type, spec)
	for _, value := range spec.Values {
		if literal, ok := value.(*ast.CompositeLit); ok {
			s.kind(literal.Type, spec)
		}
		ast.Inspect(value, func(n ast.Node) bool { return s.atStart(n, spec) })
	}
}

// kind checks the type of a package variable.
func (s *stateOf) kind(of ast.Expr, spec *ast.ValueSpec) {
	switch of.(type) {
	case *ast.ChanType:
		s.found(spec, "no package-level channels: give it an owner")
	case *ast.MapType:
		for _, name := range spec.Names {
			s.maps[name.Name] = true
		}
	}
}

// atStart checks code that runs during package initialization. The body of a function literal runs then
// only if the literal is called on the spot.
func (s *stateOf) atStart(n ast.Node, spec *ast.ValueSpec) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return false
	case *ast.GoStmt:
		s.found(n, "no package-level goroutines: give it an owner")
	case *ast.CallExpr:
		if body, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
			ast.Inspect(body.Body, func(n ast.Node) bool { return s.atStart(n, spec) })
		}
		switch {
		case isTimer(n.Fun):
			s.found(n, "no package-level timers: give it an owner")
		case isBuiltin(n.Fun, "make") && len(n.Args) > 0:
			s.kind(n.Args[0], spec)
		}
	}
	return true
}

func isTimer(fun ast.Expr) bool {
	return isCallOf(fun, "time", "NewTimer", "NewTicker", "AfterFunc", "After", "Tick")
}

// write reports the places that modify a map variable of the package. An unmodified map is a constant in
// all but name.
func (s *stateOf) write(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return true
		}
		for _, target := range n.Lhs {
			if index, ok := target.(*ast.IndexExpr); ok {
				target = index.X
			}
			s.writeTo(target)
		}
	case *ast.IncDecStmt:
		if index, ok := n.X.(*ast.IndexExpr); ok {
			s.writeTo(index.X)
		}
	case *ast.CallExpr:
		if len(n.Args) > 0 && (isBuiltin(n.Fun, "delete") || isBuiltin(n.Fun, "clear") ||
			isCallOf(n.Fun, "maps", "Copy", "DeleteFunc", "Insert")) {
			s.writeTo(n.Args[0])
		}
	}
	return true
}

func (s *stateOf) writeTo(target ast.Expr) {
	if name, ok := target.(*ast.Ident); ok && s.maps[name.Name] {
		s.found(target, "no package-level map that is written to ("+name.Name+"): give it an owner")
	}
}

func isBuiltin(fun ast.Expr, name string) bool {
	ident, ok := fun.(*ast.Ident)
	return ok && ident.Name == name
}

// isCallOf reports whether fun is pkg.NAME for one of the names. It ignores renamed imports, which this
// repository does not use for the standard library.
func isCallOf(fun ast.Expr, pkg string, names ...string) bool {
	selector, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && of.Name == pkg && slices.Contains(names, selector.Sel.Name)
}
