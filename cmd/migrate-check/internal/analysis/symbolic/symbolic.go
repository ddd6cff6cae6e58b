package symbolic

import (
	_ "embed"
	"go/types"
	"maps"
	"reflect"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

//go:embed doc.go
var doc string

// Analyzer's result is an *Evaluator for the package.
var Analyzer = &analysis.Analyzer{
	Name:       "symbolic",
	Doc:        rediscalls.About(doc, "symbolic"),
	URL:        "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic",
	ResultType: reflect.TypeFor[*Evaluator](),
	FactTypes:  []analysis.Fact{new(Builder)},
	Run:        run,
}

// Of returns the evaluator for a pass. Its analyzer must require [Analyzer].
func Of(pass *analysis.Pass) *Evaluator { return pass.ResultOf[Analyzer].(*Evaluator) }

func run(pass *analysis.Pass) (any, error) {
	e := &Evaluator{
		pass: pass, history: newHistory(pass.TypesInfo, pass.Files),
		values: map[*types.Var]Value{}, builders: map[*types.Func]*Builder{}, decls: maps.Collect(rediscalls.Decls(pass)),
	}
	for fn := range rediscalls.Decls(pass) {
		if b := e.builder(fn); b != nil {
			pass.ExportObjectFact(fn, b)
		}
	}
	return e, nil
}
