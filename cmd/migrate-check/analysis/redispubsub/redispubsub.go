package redispubsub

import (
	_ "embed"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
)

//go:embed doc.go
var doc string

// Analyzer finds publications and subscriptions.
var Analyzer = &analysis.Analyzer{
	Name:     "redispubsub",
	Doc:      rediscalls.About(doc, "redispubsub"),
	URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redispubsub",
	Requires: []*analysis.Analyzer{rediscalls.Analyzer, profile.Analyzer},
	Run:      run,
}

// rules are the commands of each rule.
var rules = []struct {
	id       string
	commands []string
}{
	{"MC201", []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}},
	{"MC202", []string{"PUBLISH", "SPUBLISH"}},
}

func run(pass *analysis.Pass) (any, error) {
	for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
		for _, rule := range rules {
			found := call.Of(rule.commands)
			if what, refused := profile.Refusal(profile.Of(pass), found...); refused {
				call.Report(pass, rule.id, call.Through(found)+"; "+what)
			}
		}
	}
	return nil, nil
}
