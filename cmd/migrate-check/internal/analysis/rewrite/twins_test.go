package rewrite_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
	"github.com/unwatch/unwatch/internal/testing/long"
)

const twins = "testdata/twins"

// fixesOf runs the analyzer on a package, and returns its fixes, and the reasons of refusals.
func fixesOf(t *testing.T, dir string) (fixes []finding.Fix, unfixed []string) {
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule}, ".")
	require.NoError(t, err)
	require.Empty(t, pkgs[0].Errors)
	graph, err := checker.Analyze([]*analysis.Analyzer{analyzers.Named(analyzers.Transactions)}, pkgs, nil)
	require.NoError(t, err)
	for _, act := range graph.Roots {
		require.NoError(t, act.Err)
		for _, d := range act.Diagnostics {
			if u, _, ok := rewrite.UnfixedOf(d); ok && d.Category == "MC101" {
				unfixed = append(unfixed, act.Package.Fset.Position(d.Pos).String()+": "+u.Why)
			}
			for _, f := range d.SuggestedFixes {
				fix := finding.Fix{Message: f.Message}
				for _, e := range f.TextEdits {
					file := act.Package.Fset.File(e.Pos)
					fix.Edits = append(fix.Edits, finding.Edit{
						Path: filepath.Base(file.Name()), Start: file.Offset(e.Pos), End: file.Offset(e.End), Text: string(e.NewText),
					})
				}
				fixes = append(fixes, fix)
			}
		}
	}
	return fixes, unfixed
}

// moduleBeside is the folder of a temporary module with the requirements of this one. So a test that is
// killed leaves no files among the sources.
func moduleBeside(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), "../../../../.."
	abs, err := filepath.Abs(root)
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	own := strings.Replace(string(mod), "module github.com/unwatch/unwatch", "module example.com/beside", 1) +
		"\nrequire github.com/unwatch/unwatch v0.0.0\n\nreplace github.com/unwatch/unwatch => " + strconv.Quote(abs) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(own), 0o600))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	return dir
}

// Package after is the exact result of the tool on package before.
// UNWATCH_UPDATE_GOLDEN=1 writes it.
func TestLongTwinsGolden(t *testing.T) {
	long.Only(t)
	dir := moduleBeside(t)
	files, err := filepath.Glob(filepath.Join(twins, "before/*.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		renamed := strings.NewReplacer(
			"// Package before has functions that use a transaction. Package after has their rewritten versions.",
			"// Package after is the rewritten package before. A test writes it.",
			"package before", "package after").Replace(string(text))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(renamed), 0o600))
	}

	fixes, unfixed := fixesOf(t, dir)
	require.Empty(t, unfixed)
	r, err := fixer.Apply(t.Context(), fixes, fixer.Options{Root: dir})
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		require.NoError(t, err)
		golden := filepath.Join(twins, "after", filepath.Base(file))
		if os.Getenv("UNWATCH_UPDATE_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(golden, got, 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.NotContains(t, string(got), "Watch(")
	}
}
