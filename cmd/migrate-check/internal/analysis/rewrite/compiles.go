package rewrite

import (
	"errors"
	"fmt"
	"go/parser"
	"go/types"
	"slices"
	"strings"
)

// compiles refuses a change with which the package would not compile: a variable may be left
// that nobody uses, or a name may be taken. Imports that are left are not its business.
func (s *source) compiles() error {
	if len(s.pass.TypeErrors) > 0 {
		return errors.New("the package does not compile as it is")
	}
	var text []byte
	at := 0
	for _, e := range s.edits {
		pos, end := s.offset(e.Pos), s.offset(e.End)
		if pos < at {
			return errors.New("parts of the change are in each other's way")
		}
		text = append(append(text, s.text[at:pos]...), e.NewText...)
		at = end
	}
	text = append(text, s.text[at:]...)
	changed, err := parser.ParseFile(s.pass.Fset, s.pass.Fset.File(s.call.Pos()).Name(), text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("the result would not be Go: %w", err)
	}
	files := slices.Clone(s.pass.Files)
	files[slices.Index(files, s.file)] = changed

	known := map[string]*types.Package{}
	collect(s.pass.Pkg, known)
	var wrong error
	config := types.Config{
		GoVersion: s.pass.Pkg.GoVersion(), Sizes: s.pass.TypesSizes, Importer: importer(known), FakeImportC: true,
		Error: func(err error) {
			if wrong == nil && !aboutImports(err) {
				wrong = err
			}
		},
	}
	_, _ = config.Check(s.pass.Pkg.Path(), s.pass.Fset, files, nil)
	if wrong != nil {
		var e types.Error
		if errors.As(wrong, &e) {
			return fmt.Errorf("it would not compile: %s", e.Msg)
		}
		return fmt.Errorf("it would not compile: %w", wrong)
	}
	return nil
}

// aboutImports reports whether an error is of an import that is not used, or of a package that
// has not been loaded since nobody has needed it so far.
func aboutImports(err error) bool {
	var e types.Error
	return errors.As(err, &e) &&
		(strings.Contains(e.Msg, " imported") && strings.Contains(e.Msg, "and not used") || strings.Contains(e.Msg, errNotLoaded.Error()))
}

func collect(pkg *types.Package, known map[string]*types.Package) {
	for _, p := range pkg.Imports() {
		if known[p.Path()] == nil {
			known[p.Path()] = p
			collect(p, known)
		}
	}
}

var errNotLoaded = errors.New("the package is not among those that are loaded")

// importer has the packages that are loaded.
type importer map[string]*types.Package

func (m importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m[path]; p != nil && p.Complete() {
		return p, nil
	}
	return nil, errNotLoaded
}
