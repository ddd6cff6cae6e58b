// Package guard runs analyzers over code that may be hostile: a panic of one analyzer
// does not lose the findings of the others, and no message carries control characters that
// the code holds.
package guard

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/internal/wrap"
)

// All returns copies of analyzers, and of those they require, that return an error where the
// given ones would panic, and report messages as wrap.Line returns them.
func All(analyzers []*analysis.Analyzer) []*analysis.Analyzer { return copies{}.all(analyzers) }

// copies holds the copy of each, so that two that require the same one still do.
type copies map[*analysis.Analyzer]*analysis.Analyzer

func (c copies) all(analyzers []*analysis.Analyzer) (guarded []*analysis.Analyzer) {
	for _, a := range analyzers {
		guarded = append(guarded, c.one(a))
	}
	return guarded
}

func (c copies) one(a *analysis.Analyzer) *analysis.Analyzer {
	if guarded, ok := c[a]; ok {
		return guarded
	}
	guarded := *a
	c[a] = &guarded
	guarded.Requires = c.all(a.Requires)
	guarded.Run = func(pass *analysis.Pass) (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, fmt.Errorf("a bug of this program: %v", p)
			}
		}()
		inner := *pass
		inner.Analyzer = a
		inner.Report = func(d analysis.Diagnostic) {
			d.Message = wrap.Line(d.Message)
			pass.Report(d)
		}
		inner.ResultOf = map[*analysis.Analyzer]any{}
		for _, required := range a.Requires {
			inner.ResultOf[required] = pass.ResultOf[c[required]]
		}
		return a.Run(&inner)
	}
	return &guarded
}
