package redisunknown

import (
	_ "embed"
	"fmt"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
)

//go:embed doc.go
var doc string

// Analyzer finds commands whose name is not known.
var Analyzer = &analysis.Analyzer{
	Name:     "redisunknown",
	Doc:      rediscalls.About(doc, "redisunknown"),
	URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisunknown",
	Requires: []*analysis.Analyzer{rediscalls.Analyzer},
	Run:      run,
}

func run(pass *analysis.Pass) (any, error) {
	for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
		if !call.Unknown {
			continue
		}
		text := fmt.Sprintf("which command %s sends is not known before the program runs", call.Name())
		if len(call.Commands) > 0 {
			known := strings.Join(call.Commands, " or ")
			text = fmt.Sprintf("%s sends %s, or what is not known before the program runs", call.Name(), known)
		}
		call.Report(pass, "MC901", text)
	}
	return nil, nil
}
