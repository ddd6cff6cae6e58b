package fixer

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// try applies changes of a package in memory; why says what does not compile.
func (r *run) try(dir string, fixes []finding.Fix) (texts map[string][]byte, why string, err error) {
	texts = map[string][]byte{}
	for _, fix := range fixes {
		for _, e := range fix.Edits {
			if texts[e.Path] != nil {
				continue
			}
			if mixed(r.old[e.Path].text) {
				return nil, e.Path + " has lines that end in different ways", nil
			}
			text, err := format.Source(apply(r.old[e.Path].text, e.Path, fixes))
			if err != nil {
				return nil, "the result is not Go: " + err.Error(), nil
			}
			texts[e.Path] = text
		}
	}
	texts, why, err = r.compiled(dir, texts)
	for name, text := range texts {
		texts[name] = dressed(text, r.old[name].text)
	}
	return texts, why, err
}

// compiled takes out the imports that are not used any more; why says what is wrong else.
func (r *run) compiled(dir string, texts map[string][]byte) (_ map[string][]byte, why string, err error) {
	// Imports that are used no more are removed, once; what is wrong then is wrong.
	unused, why, err := r.check(dir, texts)
	if err != nil || why != "" {
		return nil, why, err
	}
	if len(unused) == 0 {
		return texts, "", nil
	}
	for name, paths := range unused {
		if texts[name] == nil {
			return nil, name + " has imports that are not used", nil
		}
		if texts[name], err = without(texts[name], paths); err != nil {
			return nil, "", err
		}
	}
	unused, why, err = r.check(dir, texts)
	if why == "" && len(unused) > 0 {
		why = "imports are left that are not used"
	}
	return texts, why, err
}

// check type-checks a package as it would be, in all builds. why says what is wrong, but for
// imports that are not used: those are told by file.
func (r *run) check(dir string, texts map[string][]byte) (unused map[string][]string, why string, err error) {
	overlay := map[string][]byte{}
	for name, text := range texts {
		overlay[r.path(name)] = text
	}
	unused, built := map[string][]string{}, map[string]bool{}
	for _, build := range r.Builds {
		// From its own folder on, since that may be in a module of its own.
		pkgs, err := packages.Load(&packages.Config{
			Context: r.ctx, Dir: r.path(dir), Overlay: overlay, Tests: true,
			BuildFlags: build.Flags, Env: build.Env, Mode: packages.LoadSyntax,
		}, ".")
		if err != nil {
			return nil, "", fmt.Errorf("load %s: %w", dir, err)
		}
		for _, pkg := range pkgs {
			if len(pkg.CompiledGoFiles) == 0 && len(r.Builds) > 1 {
				continue // nothing of it is in this build
			}
			for _, name := range pkg.CompiledGoFiles {
				built[name] = true
			}
			if why := unusedIn(pkg, dir, unused); why != "" {
				return nil, why, nil
			}
		}
	}
	for name := range texts {
		if !built[r.path(name)] {
			return nil, name + " is not built here, so nobody knows whether it would compile", nil
		}
	}
	return unused, "", nil
}

// unusedIn notes the imports of a package that are not used, and says what else is wrong.
func unusedIn(pkg *packages.Package, dir string, unused map[string][]string) (why string) {
	for _, e := range typeErrors(pkg.Errors) {
		place := strings.Split(e.Pos, ":")
		imported, _, ok := strings.Cut(e.Msg, " imported")
		if !ok || !strings.Contains(e.Msg, "and not used") || len(place) < 2 {
			return "it does not compile: " + e.Msg
		}
		of, err := strconv.Unquote(imported)
		if err != nil {
			return "it does not compile: " + e.Msg
		}
		name := path.Join(dir, filepath.Base(strings.Join(place[:len(place)-2], ":")))
		unused[name] = append(unused[name], of)
	}
	return ""
}

// typeErrors leaves out what the go command says of the same mistakes, if there are others.
func typeErrors(all []packages.Error) []packages.Error {
	only := slices.DeleteFunc(slices.Clone(all), func(e packages.Error) bool { return e.Kind != packages.TypeError })
	if len(only) > 0 {
		return only
	}
	return all
}

// without removes imports from a file.
func without(text []byte, paths []string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, p := range paths {
		gone[p] = true
	}
	for p := range maps.Keys(gone) {
		for _, spec := range importsOf(f, p) {
			name := ""
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "_" {
				continue // that one is not for its names
			}
			astutil.DeleteNamedImport(fset, f, name, p)
		}
	}
	var b bytes.Buffer
	if err := format.Node(&b, fset, f); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func importsOf(f *ast.File, path string) (specs []*ast.ImportSpec) {
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == path {
			specs = append(specs, spec)
		}
	}
	return specs
}
