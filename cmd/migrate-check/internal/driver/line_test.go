package driver

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// A //line directive names the source of generated code. A fix edits the file with the directive.
func TestFixIgnoresLineDirectives(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.go")
	text := "package a\n\n//line b.go:7\nvar V = 1\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	require.NoError(t, err)
	decl := file.Decls[0]
	b := &build{program: &load.Program{Root: dir}}
	change := analysis.SuggestedFix{TextEdits: []analysis.TextEdit{{Pos: decl.Pos(), End: decl.End(), NewText: []byte("var V = 2")}}}
	fix := b.fix(fset, change)
	require.Equal(t, []finding.Edit{{Path: "a.go", Start: 25, End: 34, Text: "var V = 2"}}, fix.Edits)
	require.Equal(t, map[string]string{"a.go": finding.Sum([]byte(text))}, fix.Seen)

	require.NoError(t, os.WriteFile(name, []byte(text+"\n"), 0o600))
	require.NotEqual(t, finding.Sum([]byte(text+"\n")), b.fix(fset, change).Seen["a.go"], "it is not what was parsed")
}
