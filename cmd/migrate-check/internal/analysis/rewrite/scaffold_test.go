package rewrite_test

import (
	"context"
	"errors"
	"go/ast"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/before"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/scaffolds"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/unfixed"
	"github.com/unwatch/unwatch/rmw"
)

// Package scaffolds is package unfixed with the exact scaffold of each function as its body.
// UNWATCH_UPDATE_GOLDEN=1 writes it.
func TestScaffoldsGolden(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Dir: filepath.Join(twins, "unfixed"), Mode: packages.LoadSyntax}, ".")
	require.NoError(t, err)
	require.Empty(t, pkgs[0].Errors)
	graph, err := checker.Analyze([]*analysis.Analyzer{analyzers.Named(analyzers.Transactions)}, pkgs, nil)
	require.NoError(t, err)
	src, err := os.ReadFile(filepath.Join(twins, "unfixed/unfixed.go"))
	require.NoError(t, err)
	fset, file := pkgs[0].Fset, pkgs[0].Syntax[0]

	var b strings.Builder
	at := 0
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, d := range graph.Roots[0].Diagnostics {
			u, _, ok := rewrite.UnfixedOf(d)
			if !ok || d.Category != "MC101" || d.Pos < fn.Pos() || fn.End() < d.Pos {
				continue
			}
			b.Write(src[at : fset.Position(fn.Body.Lbrace).Offset+1])
			b.WriteString("\nstore := s.store\n" + u.Scaffold + "return err\n")
			at = fset.Position(fn.Body.Rbrace).Offset
		}
	}
	b.Write(src[at:])
	got, err := format.Source([]byte(strings.NewReplacer(
		"// Package unfixed has functions that use a transaction and get a scaffold, which package scaffolds\n// has in their place.",
		"// Package scaffolds is package unfixed with scaffolds in place of transactions. It is written by a test.",
		"package unfixed", "package scaffolds").Replace(b.String())))
	require.NoError(t, err, b.String())
	golden := filepath.Join(twins, "scaffolds/scaffolds.go")
	if os.Getenv("UNWATCH_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	require.NotContains(t, string(got), "TODO: return what is stored")
}

// A scaffold of a counter or of a hash behaves like the transaction, also without the key.
func TestScaffoldKeepsBehaviour(t *testing.T) {
	was := func(name string) func(in before.Input) call {
		return func(in before.Input) call {
			return func(ctx context.Context, rdb *redis.Client, store rmw.Store, key string) error {
				return numeric(unfixed.New(rdb, store).Funcs()[name](ctx, key, unfixed.Input(in)))
			}
		}
	}
	is := func(name string) func(in before.Input) call {
		return func(in before.Input) call {
			return func(ctx context.Context, rdb *redis.Client, store rmw.Store, key string) error {
				return numeric(scaffolds.New(rdb, store).Funcs()[name](ctx, key, scaffolds.Input(in)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(new(unfixed.Service).Funcs())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range differences(t, was(name), is(name)) {
				t.Error(d)
			}
		})
	}
}

// numeric unifies the errors of a text that is no number, because a server has one error for all.
func numeric(err error) error {
	if errors.Is(err, strconv.ErrRange) || err != nil && strings.Contains(err.Error(), "is not an integer") {
		return strconv.ErrSyntax
	}
	return err
}
