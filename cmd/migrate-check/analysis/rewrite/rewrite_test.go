package rewrite_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rewrite"
)

// probe reports what becomes of each Watch, and of each transaction outside of one.
func probe(o rewrite.Options) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "probe", Doc: "tell what becomes of a transaction", Requires: []*analysis.Analyzer{rediscalls.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
				fix, why, _ := rewrite.Of(pass, call, o)
				d := analysis.Diagnostic{Pos: call.Node.Pos(), End: call.Node.End(), Message: "not fixed: " + why}
				if fix != nil {
					d.Message, d.SuggestedFixes = "fixed", []analysis.SuggestedFix{*fix}
				}
				if call.Func.Name() == "Watch" || fix != nil {
					pass.Report(d)
				}
			}
			return nil, nil
		},
	}
}

func testdata() string { return filepath.Join(analysistest.TestData(), "../../testdata") }

func TestWhatIsDoubtfulStays(t *testing.T) {
	analysistest.Run(t, testdata(), probe(rewrite.Options{}), "refused")
}
