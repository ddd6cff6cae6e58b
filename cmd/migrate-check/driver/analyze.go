package driver

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/guard"
	"github.com/unwatch/unwatch/cmd/migrate-check/load"
	"github.com/unwatch/unwatch/cmd/migrate-check/reach"
)

// analyze runs the analyzers also over packages that have errors in them: often all they lack
// is a module that is not there, and what they do with a client has its types nevertheless.
func analyze(analyzers []*analysis.Analyzer, pkgs []*packages.Package) (*checker.Graph, error) {
	var ill []*packages.Package
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if pkg.IllTyped {
			pkg.IllTyped = false // the checker would pass over it, and over all that import it
			complete(pkg.Syntax, pkg.TypesInfo)
			ill = append(ill, pkg)
		}
	})
	defer func() {
		for _, pkg := range ill {
			pkg.IllTyped = true // others cannot stand it, as the making of SSA
		}
	}()
	return checker.Analyze(guard.All(analyzers), pkgs, nil)
}

// release gives back what the analyzers needed and who follows the calls does not: the results,
// and of the tests' copies of packages, which have no part in the call graph, the types. It is
// a third of the memory at the time when most is needed.
func release(program *load.Program, graph *checker.Graph) {
	for act := range graph.All() {
		act.Result = nil
	}
	for _, pkg := range program.Packages {
		if info := pkg.TypesInfo; reach.IsTest(pkg) && info != nil {
			info.Types, info.Instances, info.Implicits, info.Selections, info.Scopes = nil, nil, nil, nil, nil
		}
	}
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
