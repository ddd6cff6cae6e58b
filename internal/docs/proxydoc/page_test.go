package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

const docs = "../../../docs"

// The pages match the code.
func TestPagesAreUpToDate(t *testing.T) {
	pages, err := render()
	require.NoError(t, err)
	want := map[string]bool{}
	for _, p := range pages {
		want[filepath.Base(p.name)] = true
		text, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(p.name)))
		require.NoError(t, err, "run make proxies")
		assert.Equal(t, p.text, string(text), "docs/%s is out of date: run make proxies", p.name)
	}
	files, err := os.ReadDir(filepath.Join(docs, "proxies"))
	require.NoError(t, err)
	for _, f := range files {
		assert.True(t, want[f.Name()], "docs/proxies/%s is of no profile: delete it", f.Name())
	}
}

// A profile without a column would be missing from the overview without any error.
func TestEveryProfileHasAColumn(t *testing.T) {
	all, err := columns()
	require.NoError(t, err)
	want := slices.DeleteFunc(proxycompat.Names(), func(name string) bool { return name == "redis" })
	var got []string
	for _, c := range all {
		got = append(got, c.base)
	}
	assert.ElementsMatch(t, want, slices.Compact(got))
	pages, err := render()
	require.NoError(t, err)
	for _, name := range want {
		assert.Contains(t, pages[0].text, "](proxies/"+name+".md) |")
	}
}

func TestWriteToNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, write(file))
}
