package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/types/typeutil"
)

// source is the file around a call, and the changes to it so far.
type source struct {
	pass  *analysis.Pass
	info  *types.Info
	file  *ast.File
	text  []byte
	call  *ast.CallExpr
	path  []ast.Node // from the call on outwards
	edits []analysis.TextEdit
	above []string        // comments that go above the statement
	named map[string]bool // what is named in the function around, for new names
}

func newSource(pass *analysis.Pass, call *ast.CallExpr) (*source, error) {
	s := &source{pass: pass, info: pass.TypesInfo, call: call}
	for _, file := range pass.Files {
		if file.FileStart <= call.Pos() && call.Pos() < file.FileEnd {
			s.file = file
		}
	}
	if s.file == nil {
		return nil, errors.New("its file is not among those that are looked at")
	}
	if ast.IsGenerated(s.file) {
		return nil, errors.New("the file is generated: change what it is generated from")
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
	s.named = map[string]bool{}
	ast.Inspect(s.around(), func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			s.named[id.Name] = true
		}
		return true
	})
	return s, nil
}

// around is the declaration that the call stands in.
func (s *source) around() ast.Node { return s.path[len(s.path)-2] }

// parent is what the call stands in, parentheses aside.
func (s *source) parent() ast.Node {
	for _, n := range s.path[1:] {
		if _, ok := n.(*ast.ParenExpr); !ok {
			return n
		}
	}
	return s.file
}

// inner returns the body and the type of the innermost function around the call.
func (s *source) inner() (*ast.BlockStmt, *ast.FuncType) {
	for _, n := range s.path {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n.Body, n.Type
		case *ast.FuncDecl:
			return n.Body, n.Type
		}
	}
	return nil, nil
}

// fresh returns a name that is not used in the declaration around.
func (s *source) fresh(names ...string) string {
	for _, name := range names {
		if !s.named[name] {
			s.named[name] = true
			return name
		}
	}
	return s.fresh(names[0] + "1")
}

// offset is where a place is in the text. Of code with errors it may be behind its end.
func (s *source) offset(pos token.Pos) int {
	file := s.pass.Fset.File(pos)
	if file == nil {
		return len(s.text)
	}
	return min(file.Offset(pos), len(s.text))
}

// of returns the text of a node.
func (s *source) of(n ast.Node) string { return s.between(n.Pos(), n.End()) }

func (s *source) between(pos, end token.Pos) string {
	from := s.offset(pos)
	return string(s.text[from:max(from, s.offset(end))])
}

// commentsIn are the comments in a part of the file that new text does not have.
func (s *source) commentsIn(pos, end token.Pos, text string) (kept []string) {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if pos <= c.Pos() && c.End() <= end && !strings.Contains(text, c.Text) {
				kept = append(kept, c.Text)
			}
		}
	}
	return kept
}

// replace exchanges a part of the file that is all of some statements, and keeps the comments in it.
func (s *source) replace(pos, end token.Pos, text string) {
	if kept := s.commentsIn(pos, end, text); len(kept) > 0 {
		comments := strings.Join(kept, "\n")
		if text == "" || text[0] == '\n' {
			comments = "\n" + comments
		}
		text = comments + "\n" + text
	}
	s.exchange(pos, end, text)
}

// replacePart exchanges a part of a statement. Comments in it go above that: in its midst the
// line that they end could be the end of the statement.
func (s *source) replacePart(pos, end token.Pos, text string) {
	s.above = append(s.above, s.commentsIn(pos, end, text)...)
	s.exchange(pos, end, text)
}

func (s *source) exchange(pos, end token.Pos, text string) {
	s.edits = append(s.edits, analysis.TextEdit{Pos: pos, End: end, NewText: []byte(text)})
}

// statements are the innermost ones around the call that others may stand above, from the call's own on.
func (s *source) statements() (list []ast.Stmt) {
	for i, n := range s.path[:len(s.path)-1] {
		switch block := s.path[i+1].(type) {
		case *ast.BlockStmt:
			list = block.List
		case *ast.CaseClause:
			list = block.Body
		case *ast.CommClause:
			list = block.Body
		}
		if stmt, ok := n.(ast.Stmt); ok && slices.Contains(list, stmt) {
			return list[slices.Index(list, stmt):]
		}
	}
	return nil
}

func (s *source) insert(pos token.Pos, text string) {
	s.edits = append(s.edits, analysis.TextEdit{Pos: pos, End: pos, NewText: []byte(text)})
}

// fix is all changes so far, if the code compiles with them.
func (s *source) fix(message string) (*analysis.SuggestedFix, error) {
	if len(s.above) > 0 {
		stmts := s.statements()
		if len(stmts) == 0 {
			return nil, errors.New("there is no room for the comments in it")
		}
		text, pos := strings.Join(s.above, "\n")+"\n", stmts[0].Pos()
		s.edits = slices.Insert(s.edits, 0, analysis.TextEdit{Pos: pos, End: pos, NewText: []byte(text)})
	}
	slices.SortStableFunc(s.edits, func(a, b analysis.TextEdit) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End))
	})
	if err := s.compiles(); err != nil {
		return nil, err
	}
	return &analysis.SuggestedFix{Message: message, TextEdits: s.edits}, nil
}

// object is what an identifier names; nil of anything else.
func (s *source) object(e ast.Expr) types.Object {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		return s.info.ObjectOf(id)
	}
	return nil
}

// callee is the function or method that is called; nil if it is not known before it runs.
func (s *source) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(s.info, call).(*types.Func)
	return fn
}

// usesIn counts where an object is used in a part of the file.
func (s *source) usesIn(n ast.Node, obj types.Object) (uses []*ast.Ident) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && s.info.Uses[id] == obj && obj != nil {
			uses = append(uses, id)
		}
		return true
	})
	return uses
}

// within reports whether a position is in a node.
func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
