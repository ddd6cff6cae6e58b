package driver

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/guard"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// analyze runs the analyzers also over packages that have errors in them: often all they lack
// is a module that is not there, and what they do with a client has its types nevertheless.
func analyze(analyzers []*analysis.Analyzer, pkgs []*packages.Package) (*checker.Graph, error) {
	var ill []*packages.Package
	holes := map[*packages.Package]bool{} // of what they, or what they import, some has no type
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if !pkg.IllTyped {
			return
		}
		pkg.IllTyped = false // the checker would pass over it, and over all that import it
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
			pkg.IllTyped = true // others cannot stand it, as the making of SSA
		}
	}()
	// One after the other: side by side each analyzer has a goroutine for each package, most of which
	// wait for others. Of 230 packages their stacks were a sixth of all memory, and nothing was quicker.
	return checker.Analyze(guard.All(analyzers), pkgs, &checker.Options{Sequential: true})
}

// hard reports whether a package has errors that leave something without a type: an import
// that is not used, as of a function without its body, does not.
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

// helpers are the functions that the analyzers know something of: a test that calls one may be
// judged by it.
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

// complete gives a type to all expressions, as they have in code without errors: that of what
// has none is invalid.
func complete(files []*ast.File, info *types.Info) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && info.TypeOf(e) == nil {
				info.Types[e] = types.TypeAndValue{Type: types.Typ[types.Invalid]}
			}
			return true
		})
	}
}

// why says why an action has failed; "" if it has not, or only because another one has.
func why(act *checker.Action) string {
	if act.Err == nil || strings.HasPrefix(act.Err.Error(), "failed prerequisites: ") {
		return ""
	}
	return act.Analyzer.Name + ": " + act.Err.Error()
}
