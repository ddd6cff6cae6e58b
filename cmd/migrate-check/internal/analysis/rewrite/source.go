package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

const rmwPath = "github.com/unwatch/unwatch/rmw"

// source is the file around a call, with the edits so far.
type source struct {
	pass   *analysis.Pass
	info   *types.Info
	file   *ast.File
	text   []byte
	call   *ast.CallExpr
	path   []ast.Node // from the call outwards
	edits  []analysis.TextEdit
	above  []analysis.TextEdit // comments, before other edits at their places
	named  map[string]bool     // identifiers of the enclosing declaration, for new names
	wanted map[string]bool     // imports that are added
}

func newSource(pass *analysis.Pass, call *ast.CallExpr) (*source, error) {
	s := &source{pass: pass, info: pass.TypesInfo, call: call, named: map[string]bool{}, wanted: map[string]bool{}}
	for _, file := range pass.Files {
		if file.FileStart <= call.Pos() && call.Pos() < file.FileEnd {
			s.file = file
		}
	}
	if s.file == nil {
		return nil, errors.New("the package does not list its file")
	}
	if ast.IsGenerated(s.file) {
		return nil, errors.New("the file is generated: change its source")
	}
	text, err := pass.ReadFile(pass.Fset.File(call.Pos()).Name())
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	s.text = text
	s.path, _ = astutil.PathEnclosingInterval(s.file, call.Pos(), call.End())
	for len(s.path) > 0 && s.path[0] != ast.Node(call) {
		s.path = s.path[1:]
	}
	if len(s.path) < 2 {
		return nil, errors.New("the call is not found in its file")
	}
	for id := range rediscalls.Each[*ast.Ident](s.around()) {
		s.named[id.Name] = true
	}
	return s, nil
}

// around is the declaration that holds the call.
func (s *source) around() ast.Node { return s.path[len(s.path)-2] }

// parent is the node around the call, parentheses aside.
func (s *source) parent() ast.Node {
	for _, n := range s.path[1:] {
		if _, ok := n.(*ast.ParenExpr); !ok {
			return n
		}
	}
	return s.file
}

// fresh returns a name that the enclosing declaration does not use.
func (s *source) fresh(name string) string {
	for s.named[name] {
		name += "1"
	}
	s.named[name] = true
	return name
}

// of returns the text of a node.
func (s *source) of(n ast.Node) string { return s.between(n.Pos(), n.End()) }

func (s *source) between(pos, end token.Pos) string {
	from := s.offset(pos)
	return string(s.text[from:max(from, s.offset(end))])
}

// offset returns the place of a position in the text. In code with syntax errors, a position may lie behind the end.
func (s *source) offset(pos token.Pos) int {
	file := s.pass.Fset.File(pos)
	if file == nil {
		return len(s.text)
	}
	return min(file.Offset(pos), len(s.text))
}

// block returns the statement that holds a position, and those behind it in its block.
func (s *source) block(pos token.Pos) (list []ast.Stmt) {
	path, _ := astutil.PathEnclosingInterval(s.file, pos, pos)
	for i := 0; i+1 < len(path); i++ {
		switch block := path[i+1].(type) {
		case *ast.BlockStmt:
			list = block.List
		case *ast.CaseClause:
			list = block.Body
		case *ast.CommClause:
			list = block.Body
		}
		if stmt, ok := path[i].(ast.Stmt); ok && slices.Contains(list, stmt) {
			switch stmt.(type) {
			case *ast.CaseClause, *ast.CommClause:
			default:
				return list[slices.Index(list, stmt):]
			}
		}
	}
	return nil
}

// replace exchanges a part of the file. Its comments go above the statement: within one, the line that a comment ends
// could end the statement, too.
func (s *source) replace(pos, end token.Pos, text string) {
	var comments strings.Builder
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if pos <= c.Pos() && c.End() <= end && !strings.Contains(text, c.Text) {
				comments.WriteString(c.Text + "\n")
			}
		}
	}
	if stmts := s.block(pos); comments.String() != "" && len(stmts) > 0 {
		s.above = append(s.above, analysis.TextEdit{Pos: stmts[0].Pos(), End: stmts[0].Pos(), NewText: []byte(comments.String())})
	}
	s.edits = append(s.edits, analysis.TextEdit{Pos: pos, End: end, NewText: []byte(text)})
}

func (s *source) insert(pos token.Pos, text string) {
	s.edits = append(s.edits, analysis.TextEdit{Pos: pos, End: pos, NewText: []byte(text)})
}

// fix returns all edits, if the package compiles with them.
func (s *source) fix(message string) (*analysis.SuggestedFix, error) {
	s.edits = append(s.above, s.edits...)
	slices.SortStableFunc(s.edits, func(a, b analysis.TextEdit) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End))
	})
	if err := s.compiles(); err != nil {
		return nil, err
	}
	return &analysis.SuggestedFix{Message: message, TextEdits: s.edits}, nil
}

// compiles type-checks the package with the edits. Unused imports are no error: the fixer removes them.
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
	changed, err := parser.ParseFile(s.pass.Fset, s.pass.Fset.File(s.call.Pos()).Name(),
		append(text, s.text[at:]...), parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("the result would not be Go: %w", err)
	}
	files := slices.Clone(s.pass.Files)
	files[slices.Index(files, s.file)] = changed
	var wrong *types.Error
	config := types.Config{
		GoVersion: s.pass.Pkg.GoVersion(), Sizes: s.pass.TypesSizes, FakeImportC: true,
		Importer: importer{}.with(s.pass.Pkg),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && wrong == nil && !strings.Contains(e.Msg, errNotLoaded.Error()) &&
				!(strings.Contains(e.Msg, " imported") && strings.Contains(e.Msg, "and not used")) {
				wrong = &e
			}
		},
	}
	_, _ = config.Check(s.pass.Pkg.Path(), s.pass.Fset, files, nil)
	if wrong != nil {
		return fmt.Errorf("it would not compile: %s", wrong.Msg)
	}
	return nil
}

var errNotLoaded = errors.New("the package is not among those that are loaded")

// importer has the packages that are loaded.
type importer map[string]*types.Package

func (m importer) with(pkg *types.Package) importer {
	for _, p := range pkg.Imports() {
		if m[p.Path()] == nil {
			m[p.Path()] = p
			m.with(p)
		}
	}
	return m
}

func (m importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m[path]; p != nil && p.Complete() {
		return p, nil
	}
	return nil, errNotLoaded
}

// name returns the name by which the file knows a package, and imports the package if needed. The new code uses the
// name at the given places.
func (s *source) name(path string, at ...token.Pos) (string, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	i := slices.IndexFunc(s.file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == strconv.Quote(path) })
	switch {
	case i >= 0 && s.file.Imports[i].Name != nil:
		name = s.file.Imports[i].Name.Name
	case i >= 0:
		if pkg := s.info.PkgNameOf(s.file.Imports[i]); pkg != nil {
			name = pkg.Name()
		}
	case !s.wanted[path]:
		s.wanted[path] = true
		s.add(path)
	}
	if name == "." || name == "_" {
		return "", fmt.Errorf("%s is imported as %s", path, name)
	}
	for _, pos := range at {
		switch obj := s.lookup(name, pos).(type) {
		case nil:
		case *types.PkgName:
			if obj.Imported().Path() != path {
				return "", fmt.Errorf("%s is the name of something else there", name)
			}
		default:
			return "", fmt.Errorf("%s is the name of something else there", name)
		}
	}
	return name, nil
}

// lookup returns the object of a name at a position.
func (s *source) lookup(name string, pos token.Pos) types.Object {
	if scope := s.pass.Pkg.Scope().Innermost(pos); scope != nil {
		_, obj := scope.LookupParent(name, pos)
		return obj
	}
	return nil
}

// add imports a package behind the last import of its kind that does not come later in the alphabet.
func (s *source) add(path string) {
	standard := func(path string) bool {
		first, _, _ := strings.Cut(path, "/")
		return !strings.Contains(first, ".")
	}
	i := slices.IndexFunc(s.file.Decls, func(d ast.Decl) bool { g, ok := d.(*ast.GenDecl); return ok && g.Tok == token.IMPORT })
	if i < 0 {
		return // impossible: the file imports the client
	}
	decl := s.file.Decls[i].(*ast.GenDecl)
	pos, format := decl.Lparen+1, "\n\t%q"
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ImportSpec)
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || decl.Lparen.IsValid() && (standard(p) != standard(path) || p > path && standard(path)) {
			continue
		}
		if pos = spec.End(); spec.Comment != nil {
			pos = spec.Comment.End()
		}
	}
	if !decl.Lparen.IsValid() {
		format = "\nimport %q"
	}
	s.insert(pos, fmt.Sprintf(format, path))
}
