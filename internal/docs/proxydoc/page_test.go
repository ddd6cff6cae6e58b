package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

const docs = "../../../docs"

// The pages match the code.
func TestPagesAreUpToDate(t *testing.T) {
	profiles, err := embedded()
	require.NoError(t, err)
	pages, err := render(profiles)
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
func TestNewProfileAddsAColumnAndAPage(t *testing.T) {
	profiles, err := embedded()
	require.NoError(t, err)
	require.Len(t, profiles, len(proxycompat.Names()))
	before, err := columns(profiles)
	require.NoError(t, err)
	for _, p := range profiles {
		has := slices.ContainsFunc(before, func(c column) bool { return c.base == p.Name() })
		assert.Equal(t, p.Name() != "redis", has, "column of %s", p.Name())
	}

	added, err := proxycompat.Twemproxy05().Extend(proxycompat.Changes{
		Name: "added", Title: "Added",
		Rules: []proxycompat.RuleChange{{Commands: []string{"GET"}, Verdict: "misrouted", Why: "a test", Source: "a test"}},
	})
	require.NoError(t, err)
	pages, err := render(append(profiles, added))
	require.NoError(t, err)
	assert.Equal(t, "proxies/added.md", pages[len(pages)-1].name)

	_, table, _ := strings.Cut(pages[0].text, "\n| commands |")
	head, _, _ := strings.Cut(table, "\n")
	assert.Equal(t, len(before)+1, strings.Count(head, "](proxies/"))
	assert.True(t, strings.HasSuffix(head, " [Added](proxies/added.md) |"), head)
	row := regexp.MustCompile(`\n\| GET \|.*`).FindString(table)
	assert.Equal(t, strings.Repeat(" ok |", len(before))+" **wrong** |", strings.TrimPrefix(row, "\n| GET |"))
}

func TestWriteToNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, write(file))
}
