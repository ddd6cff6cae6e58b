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

const twins = "internal/twins"

// fixesOf runs the analyzer on a package, and returns its fixes, and why there are no others.
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

// moduleBeside is the folder of a module that can import what this one can: a test that is
// killed leaves nothing among the sources.
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

// Package after is what the tool makes of package before, to the letter.
// UNWATCH_UPDATE_GOLDEN=1 writes it.
func TestAfterIsMadeOfBefore(t *testing.T) {
	long.Only(t)
	dir := moduleBeside(t)
	files, err := filepath.Glob(filepath.Join(twins, "before/*.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		renamed := strings.NewReplacer(
			"// Package before has functions that use a transaction. Package after has what becomes of them.",
			"// Package after is what becomes of package before. It is written by a test.",
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
