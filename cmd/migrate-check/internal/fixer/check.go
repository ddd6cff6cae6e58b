package fixer

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// try applies changes of a package in memory. If the result does not compile, why is the reason.
func (r *run) try(dir string, fixes []finding.Fix) (texts map[string][]byte, why string, err error) {
	texts = map[string][]byte{}
	for _, fix := range fixes {
		for _, e := range fix.Edits {
			if texts[e.Path] != nil {
				continue
			}
			if n := bytes.Count(r.old[e.Path].text, crlf); n > 0 && n != bytes.Count(r.old[e.Path].text, lf) {
				return nil, e.Path + " has lines that end in different ways", nil
			}
			text, err := format.Source(apply(r.old[e.Path].text, e.Path, fixes))
			if err != nil {
				return nil, "the result is not Go: " + err.Error(), nil
			}
			texts[e.Path] = text
		}
	}
	removed, why, err := r.check(dir, texts, true)
	if removed {
		_, why, err = r.check(dir, texts, false)
	}
	for name, text := range texts {
		texts[name] = dressed(text, r.old[name].text)
	}
	return texts, why, err
}

// apply makes the edits of a file. Changes that insert the same text at the same place, as an import, insert it once.
func apply(text []byte, name string, fixes []finding.Fix) (out []byte) {
	var edits []finding.Edit
	for _, fix := range fixes {
		before := edits
		for _, e := range fix.Edits {
			if e.Path == name && (e.Start != e.End || !slices.Contains(before, e)) {
				edits = append(edits, e)
			}
		}
	}
	slices.SortStableFunc(edits, func(a, b finding.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, text[at:]...)
}

// check type-checks a package in all builds. It removes unused imports from the texts if it may, and reports whether it
// has; why is any other mistake.
func (r *run) check(dir string, texts map[string][]byte, remove bool) (removed bool, why string, err error) {
	overlay, built, unused := map[string][]byte{}, map[string]bool{}, map[token.Position]bool{}
	for name, text := range texts {
		overlay[r.path(name)] = text
	}
	for _, build := range r.Builds {
		pkgs, err := packages.Load(&packages.Config{
			Context: r.ctx, Dir: r.path(dir), // which may be in a nested module
			Overlay: overlay, Tests: true, BuildFlags: build.Flags(), Env: load.Environment(build.System), Mode: packages.LoadSyntax,
		}, ".")
		if err != nil {
			return false, "", fmt.Errorf("load %s: %w", dir, err)
		}
		for _, pkg := range pkgs {
			if len(pkg.CompiledGoFiles) == 0 && len(r.Builds) > 1 {
				continue // this build has none of its files
			}
			for _, name := range pkg.CompiledGoFiles {
				built[name] = true
			}
			for _, e := range pkg.TypeErrors {
				if !remove || !strings.Contains(e.Msg, " imported") || !strings.Contains(e.Msg, "and not used") {
					return false, "it does not compile: " + e.Msg, nil
				}
				unused[e.Fset.PositionFor(e.Pos, false)] = true
			}
			if len(pkg.Errors) > 0 && len(pkg.TypeErrors) == 0 {
				return false, "it does not compile: " + pkg.Errors[0].Msg, nil
			}
		}
	}
	for name := range texts {
		if !built[r.path(name)] {
			return false, name + " is not built here, so nothing shows that it compiles", nil
		}
	}
	removed = len(unused) > 0
	for name := range texts {
		at := maps.Clone(unused)
		maps.DeleteFunc(at, func(p token.Position, _ bool) bool { return p.Filename != r.path(name) })
		if texts[name], err = without(texts[name], at); err != nil {
			return false, "", err
		}
		maps.DeleteFunc(unused, func(p token.Position, _ bool) bool { return at[p] })
	}
	for p := range unused {
		return false, filepath.Base(p.Filename) + " has imports that are not used", nil
	}
	return removed, "", nil
}

// without removes the imports at some positions of a file.
func without(text []byte, unused map[token.Position]bool) ([]byte, error) {
	if len(unused) == 0 {
		return text, nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Clone(f.Imports) {
		for p := range unused {
			if p.Offset != fset.PositionFor(spec.Pos(), false).Offset && p.Offset != fset.PositionFor(spec.Path.Pos(), false).Offset {
				continue
			}
			name := ""
			if spec.Name != nil {
				name = spec.Name.Name
			}
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			astutil.DeleteNamedImport(fset, f, name, path)
		}
	}
	var b bytes.Buffer
	err = format.Node(&b, fset, f)
	return b.Bytes(), err
}
