package redistx

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rewrite"
)

//go:embed doc.go
var doc string

// Analyzer finds transactions.
var Analyzer = newAnalyzer()

func newAnalyzer() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:     "redistx",
		Doc:      rediscalls.About(doc, "redistx"),
		URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx",
		Requires: []*analysis.Analyzer{rediscalls.Analyzer, profile.Analyzer},
		Run:      run,
	}
	a.Flags.String("store", "", "an `EXPRESSION` for the rmw.Store that a fix sends updates to, as s.store; where it does not compile, nothing is fixed")
	return a
}

// The rules.
const (
	watchRule       = "MC101"
	transactionRule = "MC102"
	namedRule       = "MC103"
)

var transactions = []string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}

func run(pass *analysis.Pass) (any, error) {
	options := rewrite.Options{Store: pass.Analyzer.Flags.Lookup("store").Value.String()}
	calls, proxy := pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call), profile.Of(pass)
	for _, call := range calls {
		found := call.Of(transactions)
		what, refused := profile.Refusal(proxy, found...)
		if !refused {
			continue
		}
		switch {
		case call.How == rediscalls.Transaction:
			text := fmt.Sprintf("MULTI and EXEC through %s; %s", call.Name(), what)
			if what == carriedOut {
				text = fmt.Sprintf("MULTI and EXEC through %s; the proxy refuses them, and carries out what is between", call.Name())
			}
			call.Report(pass, transactionRule, text, change(pass, call, options))
		case call.How != rediscalls.ByName && found[0] == "WATCH":
			call.Report(pass, watchRule, call.Through(found)+"; "+what, change(pass, call, options))
		default:
			call.Report(pass, namedRule, call.Through(found)+"; "+what)
		}
		if found[0] == "WATCH" {
			protects(pass, calls, call)
		}
	}
	return nil, nil
}

// carriedOut is the refusal that leaves the connection open.
const carriedOut = "the proxy refuses it"

// change adds to a diagnostic the change that cures it, or why there is none and how one
// could begin: see rewrite.Unfixed.
func change(pass *analysis.Pass, call *rediscalls.Call, o rewrite.Options) func(*analysis.Diagnostic) {
	return func(d *analysis.Diagnostic) {
		fix, why, scaffold := rewrite.Of(pass, call, o)
		if fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			return
		}
		d.Related = append(d.Related, rewrite.Unfixed{Why: why, Scaffold: scaffold}.Related(d.Pos, d.End))
	}
}
