package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The documents match the code.
func TestDocuments(t *testing.T) {
	files, err := render()
	require.NoError(t, err)
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(f.name)))
		require.NoError(t, err)
		assert.Equal(t, f.text, string(have), "%s: make domains", f.name)
	}
}

// Writing succeeds in the given folder, or returns an error.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	require.Error(t, write(dir), "there is no docs folder")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o755))
	for _, e := range entities() {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "domains", e.Package), 0o755))
	}
	require.NoError(t, write(dir))
	assert.FileExists(t, filepath.Join(dir, "domains", "chat", "transitions_doc.go"))
}
