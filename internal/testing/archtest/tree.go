package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// file is one Go file. Its path is relative to the root, with slashes.
type file struct {
	path   string
	lines  int
	syntax *ast.File
	// nested: the file belongs to a module of its own inside the tree.
	nested bool
	test   bool
}

func (f *file) dir() string { return path.Dir(f.path) }

// tree is all Go files below a root.
type tree struct {
	fset  *token.FileSet
	files []*file
}

// load parses every Go file below root, except those that the go command ignores:
// testdata and names that start with a dot or an underscore.
func load(root string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && ignored(d.Name()) {
				return filepath.SkipDir
			}
			nested[rel] = nested[path.Dir(rel)] || rel != "." && exists(filepath.Join(name, "go.mod"))
			return nil
		}
		if ignored(d.Name()) || path.Ext(rel) != ".go" {
			return nil
		}
		f, err := t.parse(name)
		if err != nil {
			return err
		}
		f.path, f.nested, f.test = rel, nested[path.Dir(rel)], strings.HasSuffix(rel, "_test.go")
		t.files = append(t.files, f)
		return nil
	})
	return t, err
}

func (t *tree) parse(name string) (*file, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{lines: strings.Count(string(source), "\n"), syntax: syntax}, nil
}

// packages groups the files that are built into the module itself: no tests,
// no nested modules. The key is the folder.
func (t *tree) packages() map[string][]*file {
	packages := map[string][]*file{}
	for _, f := range t.files {
		if !f.test && !f.nested {
			packages[f.dir()] = append(packages[f.dir()], f)
		}
	}
	return packages
}

// finding formats a violation with its position.
func (t *tree) finding(f *file, at token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, t.fset.Position(at).Line, fmt.Sprintf(format, args...))
}

func ignored(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
