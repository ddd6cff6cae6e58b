// Package typecheck checks the types of Go code that a test has printed.
package typecheck

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Checker knows the packages that the code may import. It is safe for concurrent use.
type Checker struct {
	mu       sync.Mutex
	prelude  string
	files    *token.FileSet
	importer types.Importer
}

// New returns a Checker for code that follows the prelude, which has the package clause, the imports and further declarations.
func New(t testing.TB, prelude string) *Checker {
	t.Helper()
	c := &Checker{prelude: prelude, files: token.NewFileSet()}
	file, err := parser.ParseFile(c.files, "", prelude, parser.ImportsOnly)
	require.NoError(t, err)
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, spec := range file.Imports {
		args = append(args, strings.Trim(spec.Path.Value, `"`))
	}
	listed, err := exec.CommandContext(t.Context(), "go", args...).Output() //nolint:gosec // the test's own text
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range bytes.Lines(listed) {
		path, export, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		exports[path] = export
	}
	c.importer = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// Once returns a function that makes a Checker at its first call, and then returns the same.
func Once(prelude string) func(t testing.TB) *Checker {
	var once sync.Once
	var c *Checker
	return func(t testing.TB) *Checker {
		t.Helper()
		once.Do(func() { c = New(t, prelude) })
		return c
	}
}

// Check fails the test if the code does not compile. Imports that it does not use are no error.
func (c *Checker) Check(t testing.TB, code string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	file, err := parser.ParseFile(c.files, "printed.go", c.prelude+"\n"+code, parser.SkipObjectResolution)
	require.NoError(t, err, "%s", code)
	config := types.Config{Importer: c.importer, Error: func(err error) {
		if !strings.HasSuffix(err.Error(), "imported and not used") {
			t.Errorf("%v in:\n%s", err, code)
		}
	}}
	_, _ = config.Check("printed", c.files, []*ast.File{file}, nil) // Error has told
}
