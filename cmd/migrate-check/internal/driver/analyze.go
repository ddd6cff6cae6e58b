package driver

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/guard"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// analyze runs the analyzers also over packages with errors: often only a module is missing, and the calls of a client
// have types nevertheless.
func analyze(analyzers []*analysis.Analyzer, pkgs []*packages.Package) (*checker.Graph, error) {
	var ill []*packages.Package
	holes := map[*packages.Package]bool{} // some expressions, or imports, have no type
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if !pkg.IllTyped {
			return
		}
		pkg.IllTyped = false // else the checker would skip it and its importers
		ill = append(ill, pkg)
		holes[pkg] = hard(pkg)
		for _, imported := range pkg.Imports {
			holes[pkg] = holes[pkg] || holes[imported]
		}
		if holes[pkg] {
			complete(pkg.Syntax, pkg.TypesInfo)
		}
	})
	defer func() {
		for _, pkg := range ill {
			pkg.IllTyped = true // the SSA builder would panic on it
		}
	}()
	// Sequential: in parallel, each analyzer has a goroutine for each package, and most of them
	// wait. With 230 packages their stacks took a sixth of the memory, and it was no faster.
	return checker.Analyze(guard.All(analyzers), pkgs, &checker.Options{Sequential: true})
}

// hard reports whether a package has errors that leave an expression without a type. An unused import, as of a
// function without a body, is no such error.
func hard(pkg *packages.Package) bool {
	soft := 0
	for _, err := range pkg.TypeErrors {
		if !err.Soft {
			return true
		}
		soft++
	}
	return len(pkg.Errors) > soft
}

// helpers are the functions with facts: the analyzers need their bodies for tests that call them.
func helpers(graph *checker.Graph) load.Bodies {
	all := load.Bodies{}
	for act := range graph.All() {
		for _, fact := range act.AllObjectFacts() {
			if _, ok := fact.Object.(*types.Func); ok && fact.Object.Pos().IsValid() {
				all.Add(act.Package.Fset, fact.Object.Pos())
			}
		}
	}
	return all
}

// complete gives the invalid type to expressions without one, because analyzers expect a type.
func complete(files []*ast.File, info *types.Info) {
	for _, file := range files {
		for e := range rediscalls.Each[ast.Expr](file) {
			if info.TypeOf(e) == nil {
				info.Types[e] = types.TypeAndValue{Type: types.Typ[types.Invalid]}
			}
		}
	}
}

// why is the error of an action; "" if it succeeded, or failed only because another one did.
func why(act *checker.Action) string {
	if act.Err == nil || strings.HasPrefix(act.Err.Error(), "failed prerequisites: ") {
		return ""
	}
	return act.Analyzer.Name + ": " + act.Err.Error()
}
