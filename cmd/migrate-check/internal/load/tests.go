package load

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Later has the parameters of Tests.
type Later struct {
	how      packages.Config
	patterns []string
	program  Program // without packages
}

// Bodies is a set of functions, by file and by the offset of the name.
type Bodies map[string]map[int]bool

// Add adds a function by the position of its name.
func (b Bodies) Add(fset *token.FileSet, name token.Pos) {
	at := fset.PositionFor(name, false)
	if b[at.Filename] == nil {
		b[at.Filename] = map[int]bool{}
	}
	b[at.Filename][at.Offset] = true
}

// Tests loads the tests with the tested packages. Of the latter, only the functions in keep have a
// body, as the helpers by which a test sends commands.
func (l *Later) Tests(keep Bodies) (*Program, error) {
	p, how := l.program, l.how
	how.ParseFile = keep.parse
	return &p, p.load(how, slices.Clone(l.patterns))
}

// parse parses a file, and drops the bodies that are not in keep.
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
			fn.Name = ast.NewIdent("_") // an init must have a body
			fn.Name.NamePos = fn.Type.Params.Pos() - 1
		}
	}
	return file, err
}
