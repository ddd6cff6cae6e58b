package rewrite_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
)

// probe reports the fix of each Watch, and of each transaction outside of one, or the reason why there is none.
func probe(store string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "probe", Doc: "tell what becomes of a transaction", Requires: []*analysis.Analyzer{rediscalls.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
				fix, why, _ := rewrite.Of(pass, call, store)
				name := call.Func.Name()
				d := analysis.Diagnostic{Pos: call.Node.Pos(), End: call.Node.End(), Message: "not fixed: " + why}
				if fix != nil {
					d.Message, d.SuggestedFixes = "fixed", []analysis.SuggestedFix{*fix}
				}
				if name == "Watch" || fix != nil || pass.Pkg.Name() == "pipelines" && strings.HasPrefix(name, "Tx") {
					pass.Report(d)
				}
			}
			return nil, nil
		},
	}
}

func testdata() string { return filepath.Join(analysistest.TestData(), "../../testdata") }

func TestStoreChoice(t *testing.T) {
	analysistest.Run(t, testdata(), probe(""), "stores")
	analysistest.Run(t, testdata(), probe("a"), "asked")
}

// The results for code as in real projects, with version 8, and for comments.
func TestRewriteGolden(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, testdata(), probe(""), "fixed8", "comments")
}

func TestScaffoldContent(t *testing.T) {
	var mu sync.Mutex // packages are analyzed in parallel
	var all []string
	a := probe("")
	a.Run = func(pass *analysis.Pass) (any, error) {
		for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
			if _, why, scaffold := rewrite.Of(pass, call, ""); why != "" && call.Func.Name() == "Watch" {
				mu.Lock()
				all = append(all, scaffold)
				mu.Unlock()
				if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+scaffold+"}\n", 0); err != nil {
					return nil, fmt.Errorf("%w: %s", err, scaffold)
				}
			}
		}
		return nil, nil
	}
	for _, r := range analysistest.Run(discard{}, expanded(t), a, "refused") {
		require.NoError(t, r.Action.Err)
	}
	text := strings.Join(all, "\n")
	require.Contains(t, text, `store.WithLocks(ctx, []string{key, "b"}`)
	require.Contains(t, text, "// TODO: an Update is of a string or a hash, and ZCard of neither: send it under store.WithLock.\n")
	require.Contains(t, text, "//\t\t\tn, err := tx.Get(ctx, key).Int()")
}

// discard ignores the expectations in the files.
type discard struct{}

func (discard) Errorf(string, ...any) {}
