package load

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Later is what is needed to read the tests of a program.
type Later struct {
	how      packages.Config
	patterns []string
	asked    map[string]bool
	modules  []string
	root     string
	causes   map[string]string
}

// Bodies are functions, by their file and by where in it their name stands.
type Bodies map[string]map[int]bool

// Add adds the function whose name stands at a place.
func (b Bodies) Add(fset *token.FileSet, name token.Pos) {
	at := fset.PositionFor(name, false)
	if b[at.Filename] == nil {
		b[at.Filename] = map[int]bool{}
	}
	b[at.Filename][at.Offset] = true
}

// Tests reads the tests, and what they are the tests of, of which only some functions have a
// body: those that keep has, as helpers by which a test sends something.
func (l *Later) Tests(keep Bodies) (*Program, error) {
	p := &Program{Asked: l.asked, Modules: l.modules, Root: l.root, causes: l.causes}
	how := l.how
	how.ParseFile = keep.parse
	return p, p.load(how, slices.Clone(l.patterns))
}

// parse parses a file, and leaves out the bodies that are not wanted.
func (b Bodies) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	file, err := parseFile(fset, name, src)
	if file == nil || strings.HasSuffix(name, "_test.go") {
		return file, err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || b[name][fset.PositionFor(fn.Name.Pos(), false).Offset] {
			continue
		}
		fn.Body = nil
		if fn.Recv == nil && fn.Name.Name == "init" {
			fn.Name = ast.NewIdent("_") // an init has to have a body
			fn.Name.NamePos = fn.Type.Params.Pos() - 1
		}
	}
	return file, err
}
