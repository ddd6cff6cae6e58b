package redistx

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
)

//go:embed doc.go
var doc string

// Analyzer finds transactions.
var Analyzer = &analysis.Analyzer{
	Name:     "redistx",
	Doc:      rediscalls.About(doc, "redistx"),
	URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx",
	Requires: []*analysis.Analyzer{rediscalls.Analyzer},
	Run:      run,
}

// The rules.
const (
	watchRule       = "MC101"
	transactionRule = "MC102"
	namedRule       = "MC103"
)

var transactions = []string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}

func run(pass *analysis.Pass) (any, error) {
	for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
		found := call.Of(transactions)
		switch {
		case len(found) == 0:
		case call.How == rediscalls.Transaction:
			call.Report(pass, transactionRule, fmt.Sprintf("MULTI and EXEC through %s; the proxy refuses them, and carries out what is between", call.Name()))
		case call.How != rediscalls.ByName && found[0] == "WATCH":
			call.Report(pass, watchRule, call.Through(found)+"; the proxy refuses it")
		default:
			call.Report(pass, namedRule, call.Through(found)+"; the proxy refuses it")
		}
	}
	return nil, nil
}
