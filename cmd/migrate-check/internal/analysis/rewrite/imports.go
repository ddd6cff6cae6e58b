package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

const rmwPath = "github.com/unwatch/unwatch/rmw"

// imports are the packages that new code names, by their path.
type imports struct {
	*source
	wanted map[string]bool
}

// name returns by which name the file knows a package, and imports it if it does not. at are
// the places where the name is going to stand.
func (m *imports) name(path string, at ...token.Pos) (string, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if spec := m.spec(path); spec != nil {
		if spec.Name != nil {
			name = spec.Name.Name
		} else if pkg := m.info.PkgNameOf(spec); pkg != nil {
			name = pkg.Name()
		}
		if name == "." || name == "_" {
			return "", fmt.Errorf("%s is imported as %s", path, name)
		}
	} else if !m.wanted[path] {
		m.wanted[path] = true
		m.add(path)
	}
	for _, pos := range at {
		scope := m.pass.Pkg.Scope().Innermost(pos)
		if scope == nil {
			continue
		}
		_, obj := scope.LookupParent(name, pos)
		if pkg, ok := obj.(*types.PkgName); ok && pkg.Imported().Path() == path {
			continue
		}
		if obj != nil {
			return "", fmt.Errorf("%s is the name of something else there", name)
		}
	}
	return name, nil
}

func (m *imports) spec(path string) *ast.ImportSpec {
	for _, spec := range m.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == path {
			return spec
		}
	}
	return nil
}

// add imports a package: behind the one before it in the alphabet, of those of its kind.
func (m *imports) add(path string) {
	var decl *ast.GenDecl
	for _, d := range m.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			decl = g
			break
		}
	}
	if decl == nil {
		return // the file imports the client, so there is one
	}
	if !decl.Lparen.IsValid() {
		m.insert(behind(decl.Specs[0].(*ast.ImportSpec)), fmt.Sprintf("\nimport %q", path))
		return
	}
	var before ast.Spec
	for _, spec := range decl.Specs {
		p, err := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
		if err != nil || isStd(p) != isStd(path) {
			continue
		}
		if p < path || !isStd(path) {
			before = spec
		}
	}
	if before != nil {
		m.insert(behind(before.(*ast.ImportSpec)), fmt.Sprintf("\n\t%q", path))
		return
	}
	m.insert(decl.Lparen+1, fmt.Sprintf("\n\t%q", path))
}

// behind is where the line of an import ends: its comment stays with it.
func behind(spec *ast.ImportSpec) token.Pos {
	if spec.Comment != nil {
		return spec.Comment.End()
	}
	return spec.End()
}

func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
