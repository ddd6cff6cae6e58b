package fixer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/internal/testing/long"
)

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

// gofmt would change the end of each line, and so all of a file.
func TestFileKeepsLineEndings(t *testing.T) {
	dos := "\ufeff" + strings.ReplaceAll(source, "\n", "\r\n")
	dir := module(t, map[string]string{"a/a.go": dos})
	fixes := []finding.Fix{swap("a/a.go", dos, "fmt.Sprint(1)", "fmt.Sprint( 2)")}
	_, err := fixer.Apply(t.Context(), fixes, fixer.Options{Root: dir})
	require.NoError(t, err)
	require.Equal(t, strings.Replace(dos, "fmt.Sprint(1)", "fmt.Sprint(2)", 1), read(t, dir, "a/a.go"))
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
