package rewrite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
)

// commands matches the calls of a client, a transaction or a pipeline that write, in the fixtures.
var commands = regexp.MustCompile(`(?:pipe|tx|s\.rdb)\.(?:Set|Expire|Incr|Del|HSet|HDel|SAdd)\([^()]*\)`)

// A scaffold has every write of its transaction, or no code.
func TestScaffoldCarriesEveryWrite(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Dir: filepath.Join(twins, "writes"), Mode: packages.LoadSyntax}, ".")
	require.NoError(t, err)
	require.Empty(t, pkgs[0].Errors)
	graph, err := checker.Analyze([]*analysis.Analyzer{analyzers.Named(analyzers.Transactions)}, pkgs, nil)
	require.NoError(t, err)
	tested := 0
	for _, decl := range pkgs[0].Syntax[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		tested++
		t.Run(fn.Name.Name, func(t *testing.T) {
			scaffold := ""
			for _, d := range graph.Roots[0].Diagnostics {
				if u, _, ok := rewrite.UnfixedOf(d); ok && scaffold == "" && fn.Pos() <= d.Pos && d.Pos < fn.End() {
					scaffold = u.Scaffold
				}
			}
			_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+scaffold+"}\n", 0)
			require.NoError(t, err, scaffold)
			code, was, _ := strings.Cut(scaffold, "// It was:\n")
			want, reason, _ := strings.Cut(strings.TrimSpace(fn.Doc.Text()), ": ")
			switch want {
			case "value":
				assert.NotContains(t, code, "TODO: return what is stored")
				assert.Contains(t, code, "store.Update(")
			case "list":
				calls := commands.FindAllString(was, -1)
				require.NotEmpty(t, calls)
				for _, call := range calls {
					assert.Contains(t, code, call)
				}
			case "none":
				for line := range strings.Lines(code) {
					assert.True(t, strings.HasPrefix(line, "//"), line)
				}
				for part := range strings.SplitSeq(reason, " and ") {
					assert.Contains(t, code, strings.ReplaceAll(part, "`", ""))
				}
			default:
				t.Fatal("no such scaffold: " + want)
			}
			if t.Failed() {
				t.Log(scaffold)
			}
		})
	}
	require.Greater(t, tested, 25)
}
