package fixer_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/internal/testing/long"
)

// A changed file may have the same length.
func TestChangedFileIsDropped(t *testing.T) {
	dir := module(t, nil)
	fix := swap("a/a.go", source, "fmt.Sprint(1)", `fmt.Sprint(2)`)
	fix.Seen = map[string]string{"a/a.go": finding.Sum([]byte(source))}
	other := strings.Replace(source, "an error", "my error", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/a.go"), []byte(other), 0o600))
	r, err := fixer.Apply(t.Context(), []finding.Fix{fix}, fixer.Options{Root: dir})
	require.NoError(t, err)
	require.Len(t, r.Dropped, 1)
	require.Contains(t, r.Dropped[0].Why, "has changed since")
	require.Equal(t, other, read(t, dir, "a/a.go"))
}

// A file that changes during the type check is not overwritten.
func TestFileChangedDuringCheckIsKept(t *testing.T) {
	dir := module(t, nil)
	other := source + "\n// Mine.\n"
	fix := swap("a/a.go", source, "fmt.Sprint(1)", `fmt.Sprint(2)`)
	_, err := fixer.Apply(t.Context(), []finding.Fix{fix}, fixer.Options{Root: dir, Checked: func() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a/a.go"), []byte(other), 0o600))
	}})
	require.ErrorContains(t, err, "has changed meanwhile")
	require.Equal(t, other, read(t, dir, "a/a.go"))
}

func TestCancelledApplyWritesNothing(t *testing.T) {
	dir := module(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := fixer.Apply(ctx, []finding.Fix{swap("a/a.go", source, "fmt.Sprint(1)", `fmt.Sprint(2)`)},
		fixer.Options{Root: dir, Checked: cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, source, read(t, dir, "a/a.go"))
}

func TestUnwritableFileIsDropped(t *testing.T) {
	dir := module(t, map[string]string{"vendor/b/b.go": source, "c/c.go": source})
	require.NoError(t, os.Chmod(filepath.Join(dir, "c/c.go"), 0o400))
	require.NoError(t, os.Symlink("a.go", filepath.Join(dir, "a/link.go")))
	first := swap("a/a.go", source, "fmt.Sprint(1)", `fmt.Sprint(2)`)
	twice := first
	twice.Edits = append(twice.Edits[:1:1], finding.Edit{Path: "a/a.go", Start: first.Edits[0].Start + 1, End: first.Edits[0].End})
	for why, fix := range map[string]finding.Fix{
		"is a vendored copy":      swap("vendor/b/b.go", source, "(1)", "(2)"),
		"is read-only":            swap("c/c.go", source, "(1)", "(2)"),
		"is not a regular file":   swap("a/link.go", source, "(1)", "(2)"),
		"are in each other's way": twice,
	} {
		r, err := fixer.Apply(t.Context(), []finding.Fix{fix}, fixer.Options{Root: dir})
		require.NoError(t, err)
		require.Len(t, r.Dropped, 1, why)
		require.Contains(t, r.Dropped[0].Why, why)
	}
}

// gofmt would change the end of each line, and so all of a file.
func TestFileKeepsLineEndings(t *testing.T) {
	dos := "\ufeff" + strings.ReplaceAll(source, "\n", "\r\n")
	mixed := strings.Replace(strings.ReplaceAll(source, "package a", "package b"), "\n", "\r\n", 1)
	dir := module(t, map[string]string{"a/a.go": dos, "b/b.go": mixed})
	r, err := fixer.Apply(t.Context(), []finding.Fix{
		swap("a/a.go", dos, "fmt.Sprint(1)", "fmt.Sprint( 2)"), swap("b/b.go", mixed, "(1)", "(2)"),
	}, fixer.Options{Root: dir})
	require.NoError(t, err)
	require.Equal(t, strings.Replace(dos, "fmt.Sprint(1)", "fmt.Sprint(2)", 1), read(t, dir, "a/a.go"))
	require.Len(t, r.Dropped, 1)
	require.Contains(t, r.Dropped[0].Why, "in different ways")
	require.Equal(t, mixed, read(t, dir, "b/b.go"))
}

// A file outside of a build cannot be checked there; another build may have it.
func TestLongFileIsCheckedInItsBuild(t *testing.T) {
	long.Only(t)
	tagged := "//go:build old\n\npackage a\n\nfunc H() int { return 1 }\n"
	dir := module(t, map[string]string{"a/tagged.go": tagged})
	bad, good := swap("a/tagged.go", tagged, "return 1", `return "1"`), swap("a/tagged.go", tagged, "return 1", `return 2`)
	apply := func(fix finding.Fix, builds ...load.Config) string {
		r, err := fixer.Apply(t.Context(), []finding.Fix{fix}, fixer.Options{Root: dir, Builds: builds, Diff: new(bytes.Buffer)})
		require.NoError(t, err)
		if len(r.Dropped) == 0 {
			return ""
		}
		return r.Dropped[0].Why
	}
	require.Contains(t, apply(good), "is not built here")
	both := []load.Config{{}, {Tags: "old"}}
	require.Contains(t, apply(bad, both...), "does not compile")
	require.Empty(t, apply(good, both...))
}

// A module may lie in another, and a folder may have a space in its name.
func TestDiffOfNestedModule(t *testing.T) {
	files := map[string]string{"in ner/go.mod": "module example.com/inner\n\ngo 1.26\n", "in ner/b/b.go": source}
	var diff bytes.Buffer
	r, err := fixer.Apply(t.Context(), []finding.Fix{swap("in ner/b/b.go", source, "fmt.Sprint(1)", `"1"`)},
		fixer.Options{Root: module(t, files), Diff: &diff})
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	for _, tool := range [][]string{{"git", "apply", "-p1", "-"}, {"patch", "-p1"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			t.Logf("skipped: there is no %s", tool[0])
			continue
		}
		dir := module(t, files)
		cmd := exec.CommandContext(t.Context(), tool[0], tool[1:]...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff.String())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, diff.String())
		require.Contains(t, read(t, dir, "in ner/b/b.go"), `return "1"`)
	}
}

// A blank import stays, also beside an unused one of the same package.
func TestBlankImportStays(t *testing.T) {
	both := strings.Replace(source, "\t\"fmt\"\n", "\t\"fmt\"\n\t_ \"fmt\"\n", 1)
	dir := module(t, map[string]string{"a/a.go": both})
	r, err := fixer.Apply(t.Context(), []finding.Fix{swap("a/a.go", both, "fmt.Sprint(1)", `"1"`)}, fixer.Options{Root: dir})
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	require.Contains(t, read(t, dir, "a/a.go"), `_ "fmt"`)
	require.NotContains(t, read(t, dir, "a/a.go"), "\t\"fmt\"\n")
}
